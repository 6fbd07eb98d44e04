// Ministral 3: Llama's shape with YaRN, and queries that ask more sharply far out.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.rope.pairs = Pairs::adjacent_in_gguf;
  layer.attention.temperature = llama4_temperature(config);
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kMinistral3{"mistral3", "ministral3", "Ministral 3", build};

}  // namespace ingle::models
