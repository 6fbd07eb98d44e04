// Qwen 3 with experts. Yang et al., arXiv:2505.09388.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.head_norms = true;
  if (!config.find_bool({"", "use_sliding_window"}).value_or(false)) layer.attention.window = 0;
  Layer sparse = layer;
  sparse.moe = usual_moe(config, config.is_gguf());
  return build_decoder(b, config, {.layer = [&](int64_t i) { return is_dense(config, i) ? layer : sparse; }});
}

}  // namespace

extern const Architecture kQwen3Moe{"qwen3moe", "qwen3_moe", "Qwen 3, with experts", build};

}  // namespace ingle::models
