// Apertus: xIELU without a gate, norms of q and k. arXiv:2509.14233.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  read_gguf_factors(b, config, layer.attention.rope);
  layer.attention.head_norms = true;
  layer.mlp.gated = false;
  layer.mlp.xielu = true;
  layer.mlp.bias = presence_of(config, {"", "mlp_bias"}, false);
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"attn_norm", "attention_layernorm"},
                                          {"ffn_norm", "feedforward_layernorm"},
                                          {"ffn_act", "mlp.act_fn"}});
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kApertus{"apertus", "apertus", "Apertus", build};

}  // namespace ingle::models
