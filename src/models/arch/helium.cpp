// Helium 1 (Kyutai): Llama's shape with rotated pairs side by side.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.rope.pairs = Pairs::adjacent;
  layer.attention.qkv_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.mlp.bias = presence_of(config, {"", "mlp_bias"}, false);
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kHelium{"", "helium", "Helium", build};

}  // namespace ingle::models
