// Nemotron 4 and Minitron: LayerNorm whose weights lack 1, squared ReLU, partial RoPE. Parmar et al.,
// arXiv:2402.16819.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.mlp.bias = presence_of(config, {"", "mlp_bias"}, false);
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::relu2);
  Decoder decoder;
  decoder.norm = NormKind::layer;
  decoder.norm_plus = 1;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kNemotron{"nemotron", "nemotron", "Nemotron 4, Minitron", build};

}  // namespace ingle::models
