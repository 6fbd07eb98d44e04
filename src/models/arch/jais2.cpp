// Jais 2: LayerNorm, squared ReLU without a gate, biases. Inception / MBZUAI, 2025.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, true);
  layer.mlp.bias = presence_of(config, {"", "mlp_bias"}, true);
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::relu2);
  Decoder decoder;
  decoder.norm = NormKind::layer;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kJais2{"jais2", "jais2", "Jais 2", build};

}  // namespace ingle::models
