// Arcee Trinity: gated attention, windows with RoPE and full layers without, sandwich norms, experts by
// sigmoids.
#include <cmath>

#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer sliding{usual_attention(config), usual_mlp(config), true};
  sliding.attention.head_norms = true;
  sliding.attention.gate = {Activation::sigmoid, AttentionGate::values};
  Moe moe = sigmoid_moe(config);
  moe.router.normalise = true;
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"attn_gate", "self_attn.gate_proj"},
                                          {"ffn_norm", "pre_mlp_layernorm"},
                                          {"post_ffw_norm", "post_mlp_layernorm"},
                                          {"ffn_gate_inp", "mlp.router.gate"},
                                          {"exp_probs_b", "mlp.expert_bias"}});
  if (config.is_gguf() || config.find_bool({"", "mup_enabled"}).value_or(false))
    decoder.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  decoder.layer = [&](int64_t i) {
    Layer layer = sliding;
    if (!config.slides(i, (i + 1) % 4 != 0)) layer.attention.window = 0, layer.attention.rotary = false;
    if (!is_dense(config, i)) layer.moe = moe;
    return layer;
  };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kAfmoe{"afmoe", "afmoe", "Arcee Trinity", build};

}  // namespace ingle::models
