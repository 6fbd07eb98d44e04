// Persimmon (Adept): squared ReLU, norms of q and k, q, k and v fused head by head, partial RoPE.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.heads.n_kv_heads = layer.attention.heads.n_heads;
  layer.attention.fused = FusedQkv::heads;
  layer.attention.qkv_bias = layer.attention.output_bias = layer.mlp.bias = Presence::yes;
  if (config.find_bool({"", "qk_layernorm"}).value_or(true)) layer.attention.qk_norm.kind = NormKind::layer;
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::relu2);
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"attn_qkv", "self_attn.query_key_value"},
                                          {"attn_output", "self_attn.dense"},
                                          {"attn_q_norm", "self_attn.q_layernorm"},
                                          {"attn_k_norm", "self_attn.k_layernorm"},
                                          {"ffn_up", "mlp.dense_h_to_4h"},
                                          {"ffn_down", "mlp.dense_4h_to_h"},
                                          {"output_norm", "model.final_layernorm"}});
  decoder.norm = NormKind::layer;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kPersimmon{"", "persimmon", "Persimmon", build};

}  // namespace ingle::models
