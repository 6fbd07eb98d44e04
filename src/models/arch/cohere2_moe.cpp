// Command A+ with experts: both blocks read one norm; windows with RoPE and full layers without; the shared
// expert is averaged with the others.
#include "core/error.h"
#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr Key kSelection{"", "expert_selection_fn"}, kTogether{"", "shared_expert_combination_strategy"};
constexpr Key kDenseWidth{"feed_forward_length", "prefix_dense_intermediate_size"};

// Does the file say `word`? Without the key: no.
bool says(const Config& config, Key key, std::string_view word, std::string_view other) {
  const std::string* found = config.find_string(key);
  if (found && *found != word && *found != other)
    config.refuse(key, format("'{}' is not understood; expected {} or {}", *found, other, word));
  return found && *found == word;
}

Moe experts(const Config& config) {
  Moe moe = usual_moe(config, false);
  const bool gguf = config.is_gguf();
  if (gguf ? gguf_scores_by_sigmoids(config, true) : says(config, kSelection, "sigmoid", "softmax"))
    moe.router.score = RouterScore::sigmoid;
  else
    moe.router.score = RouterScore::softmax_of_chosen, moe.router.normalise = false;
  if ((gguf || says(config, kTogether, "average", "sum")) && moe.shared_width > 0) moe.scale = 0.5f;
  return moe;
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer sliding{usual_attention(config), usual_mlp(config)};
  sliding.attention.rope.pairs = Pairs::adjacent;
  sliding.attention.qkv_bias = sliding.attention.output_bias =
      presence_of(config, {"", "attention_bias"}, false);
  sliding.parallel = sliding.shared_norm = true;
  sliding.mlp.width = config.need_int(kDenseWidth, 1, 1 << 24);
  const Moe moe = experts(config);
  Decoder decoder;
  decoder.norm = config.find_float({"attention.layer_norm_rms_epsilon", "rms_norm_eps"}) ? NormKind::rms
                                                                                         : NormKind::layer;
  decoder.logit_scale = config.positive_or({"logit_scale", "logit_scale"}, 1);
  decoder.layer = [&](int64_t i) {
    Layer layer = sliding;
    if (!config.slides(i, (i + 1) % 4 != 0)) layer.attention.window = 0, layer.attention.rotary = false;
    if (!is_dense(config, i)) layer.moe = moe;
    return layer;
  };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kCohere2Moe{"cohere2moe", "cohere2_moe", "Command A with experts", build};

}  // namespace ingle::models
