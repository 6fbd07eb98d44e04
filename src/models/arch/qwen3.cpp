// Qwen 3 (dense): norms over each head of q and k instead of biases. Yang et al., arXiv:2505.09388.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.head_norms = true;
  if (!config.is_gguf() && !config.find_bool({"", "use_sliding_window"}).value_or(false))
    layer.attention.window = 0;  // config.json may name a window that is not used
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kQwen3{"qwen3", "qwen3 qwen3_vl_text", "Qwen 3, dense", build};

}  // namespace ingle::models
