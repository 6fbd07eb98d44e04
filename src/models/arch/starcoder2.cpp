// StarCoder 2: LayerNorm, biases, a window. Lozhkov et al., arXiv:2402.19173.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = layer.mlp.bias =
      presence_of(config, {"", "use_bias"}, true);
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::gelu_tanh);
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}});
  decoder.norm = NormKind::layer;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kStarCoder2{"starcoder2", "starcoder2", "StarCoder 2", build};

}  // namespace ingle::models
