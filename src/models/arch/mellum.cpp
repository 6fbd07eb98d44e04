// Mellum 2 (JetBrains): Qwen 3's experts, with windows and a RoPE of its own on some layers.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer full{usual_attention(config, "full_attention"), usual_mlp(config)};
  full.attention.head_norms = true;
  full.attention.qkv_bias = full.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  Layer sliding = full;
  full.attention.window = 0;
  sliding.attention.rope = read_rope(config, "sliding_attention");
  const Moe moe = usual_moe(config, true);
  return build_decoder(b, config, {.layer = [&](int64_t i) {
                         Layer layer = config.window && config.slides(i, (i + 1) % 4 != 0) ? sliding : full;
                         if (!is_dense(config, i)) layer.moe = moe;
                         return layer;
                       }});
}

}  // namespace

extern const Architecture kMellum{"mellum", "mellum", "Mellum 2", build};

}  // namespace ingle::models
