// Gemma 3 (text): sandwich norms, head norms, five sliding layers to one full. "Gemma 3 Technical Report",
// arXiv:2503.19786. GGUF files hold norm weights with the 1 already added.
#include <cmath>

#include "core/error.h"
#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr int64_t kFullEvery = 6;
// The 27B model scales logits by hidden / heads instead of the head's width. GGUF files have no key for it;
// llama.cpp, too, knows the model by its layers.
constexpr int64_t k27BLayers = 62;
constexpr double kLocalTheta = 10000;  // of the sliding layers; GGUF files name it only when it differs
constexpr Key kScalar{"", "query_pre_attn_scalar"};

double query_scalar(const Config& config) {
  if (config.has(kScalar)) return config.need_positive(kScalar);
  if (config.n_layers == k27BLayers)
    return static_cast<double>(config.hidden) / static_cast<double>(config.n_heads);
  return static_cast<double>(config.dk);
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  if (!config.window)
    fail(Code::corrupt, config.file().name(),
         format("key '{}' is missing", config.spelled({"attention.sliding_window", "sliding_window"})));
  if (config.find_bool({"", "use_bidirectional_attention"}).value_or(false))
    config.refuse({"", "use_bidirectional_attention"}, "the model is an encoder");
  Layer full{usual_attention(config, "full_attention"), usual_mlp(config), true};
  full.attention.head_norms = true;
  full.attention.window = 0;
  full.attention.scale =
      static_cast<float>(config.positive_or("attention.scale", 1 / std::sqrt(query_scalar(config))));
  full.attention.softcap = static_cast<float>(config.positive_or({"", "attn_logit_softcapping"}, 0));
  full.mlp.act = Activation::gelu_tanh;
  Layer sliding = full;
  sliding.attention.window = *config.window;
  if (config.is_gguf()) {
    sliding.attention.rope.theta = config.positive_or("rope.freq_base_swa", kLocalTheta);
    sliding.attention.rope.linear_factor = 1;
  } else {
    sliding.attention.rope = read_rope(config, "sliding_attention");
  }
  Decoder decoder;
  decoder.norm_plus = 1;
  decoder.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  decoder.logit_softcap =
      static_cast<float>(config.positive_or({"final_logit_softcapping", "final_logit_softcapping"}, 0));
  decoder.layer = [&](int64_t i) { return config.slides(i, (i + 1) % kFullEvery != 0) ? sliding : full; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGemma3{"gemma3", "gemma3_text", "Gemma 3, text", build};

}  // namespace ingle::models
