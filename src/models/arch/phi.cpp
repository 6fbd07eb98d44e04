// Phi 1, 1.5 and 2: parallel blocks behind one LayerNorm, partial RoPE, biases everywhere. Li et al.,
// arXiv:2309.05463.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config, {}, 10000), usual_mlp(config)};
  layer.parallel = layer.shared_norm = true;
  layer.attention.qkv_bias = layer.attention.output_bias = layer.mlp.bias = Presence::yes;
  if (config.find_bool({"", "qk_layernorm"}).value_or(false)) layer.attention.qk_norm.kind = NormKind::layer;
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::gelu_tanh);
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"attn_output", "self_attn.dense"},
                                          {"attn_q_norm", "self_attn.q_layernorm"},
                                          {"attn_k_norm", "self_attn.k_layernorm"},
                                          {"ffn_up", "mlp.fc1"},
                                          {"ffn_down", "mlp.fc2"},
                                          {"output_norm", "model.final_layernorm"}});
  decoder.norm = NormKind::layer;
  decoder.output_bias = Presence::yes;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kPhi{"phi2", "phi", "Phi 1 to 2", build};

}  // namespace ingle::models
