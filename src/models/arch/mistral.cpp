// Mistral and Ministral from Hugging Face (GGUF calls them Llama): Llama's shape with a sliding window, on
// all layers or on some. Jiang et al., "Mistral 7B", arXiv:2310.06825.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  const Layer sliding{usual_attention(config), usual_mlp(config)};
  Layer full = sliding;
  full.attention.window = 0;
  return build_decoder(b, config,
                       {.layer = [&](int64_t i) { return config.slides(i, true) ? sliding : full; }});
}

}  // namespace

extern const Architecture kMistral{"", "mistral ministral", "Mistral, Ministral", build};

}  // namespace ingle::models
