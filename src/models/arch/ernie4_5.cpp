// ERNIE 4.5 (dense): Llama's shape with rotated pairs side by side and, by a flag, biases everywhere.
// "ERNIE 4.5 Technical Report", Baidu 2025.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.rope.pairs = Pairs::adjacent;
  layer.attention.qkv_bias = layer.attention.output_bias = layer.mlp.bias =
      presence_of(config, {"", "use_bias"}, false);
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kErnie45{"ernie4_5", "ernie4_5", "ERNIE 4.5, dense", build};

}  // namespace ingle::models
