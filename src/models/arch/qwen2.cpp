// Qwen 2 and 2.5: Llama's shape with biases on q, k and v. Yang et al., arXiv:2407.10671.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = Presence::yes;
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kQwen2{"qwen2", "Qwen 2 and 2.5", build};

}  // namespace ingle::models
