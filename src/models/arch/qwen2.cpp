// Qwen 2 and 2.5: Llama's shape with biases on q, k and v. Yang et al., arXiv:2407.10671.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = Presence::yes;
  // config.json names a window even where none is used; then the first layers see everything.
  const int64_t first_sliding = config.find_int({"", "max_window_layers"}).value_or(0);
  const bool sliding = config.is_gguf() || config.find_bool({"", "use_sliding_window"}).value_or(false);
  Layer full = layer;
  full.attention.window = 0;
  return build_decoder(b, config, {.layer = [&](int64_t i) {
                         return sliding && config.slides(i, i >= first_sliding) ? layer : full;
                       }});
}

}  // namespace

extern const Architecture kQwen2{"qwen2", "qwen2 qwen2_vl_text qwen2_5_vl_text", "Qwen 2 and 2.5", build};

}  // namespace ingle::models
