// Arcee (AFM): Llama's shape with a feed-forward of squared ReLUs without a gate.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.attention.rope.pairs = Pairs::adjacent_in_gguf;
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::relu2);
  layer.mlp.bias = presence_of(config, {"", "mlp_bias"}, false);
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kArcee{"arcee", "arcee", "Arcee AFM", build};

}  // namespace ingle::models
