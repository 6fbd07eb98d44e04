// Youtu-LLM: latent attention without experts.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer;
  layer.mla = usual_mla(config);
  layer.mlp = usual_mlp(config);
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kYoutu{"", "youtu", "Youtu-LLM", build};

}  // namespace ingle::models
