// Command R and R+ (Cohere): parallel blocks behind one LayerNorm without bias, pairs side by side, scaled
// logits; R+ has norms of q and k. Command R7B and A slide on three layers of four and have no RoPE on the
// fourth.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build_with(graph::GraphBuilder& b, const Config& config, int64_t full_every) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.parallel = layer.shared_norm = true;
  layer.attention.rope.pairs = Pairs::adjacent;
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  const graph::TensorName norms{"blk.0.attn_q_norm.weight", ""};
  if (config.find_bool({"", "use_qk_norm"}).value_or(b.has(norms)))
    layer.attention.qk_norm = {NormKind::layer, QkNorm::heads, false, true};
  Decoder decoder;
  decoder.norm = NormKind::layer;
  decoder.logit_scale = static_cast<float>(config.need_positive({"logit_scale", "logit_scale"}));
  decoder.layer = [&](int64_t i) {
    Layer l = layer;
    const bool full = full_every == 0 || !config.slides(i, (i + 1) % full_every != 0);
    if (full) l.attention.window = 0;
    if (full && full_every > 0) l.attention.rotary = false;
    return l;
  };
  return build_decoder(b, config, decoder);
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) { return build_with(b, config, 0); }
backends::Plan build_sliding(graph::GraphBuilder& b, const Config& config) {
  return build_with(b, config, config.find_int({"", "sliding_window_pattern"}).value_or(4));
}

}  // namespace

extern const Architecture kCohere{"command-r", "cohere", "Command R, R+", build};
extern const Architecture kCohere2{"cohere2", "cohere2", "Command R7B, A", build_sliding};

}  // namespace ingle::models
