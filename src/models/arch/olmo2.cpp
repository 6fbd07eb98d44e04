// OLMo 2 and 3: norms after the blocks only, and over the whole of q and k; OLMo 3 slides on three layers of
// four, and stretches RoPE on the fourth alone. arXiv:2501.00656.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer full{usual_attention(config, "full_attention"), usual_mlp(config)};
  full.post_norms = true;
  full.pre_norms = false;
  full.attention.qk_norm = {NormKind::rms, QkNorm::row, false, true};
  full.attention.qkv_bias = full.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  Layer sliding = full;
  full.attention.window = 0;
  sliding.attention.rope = read_rope(config, "sliding_attention");
  if (!config.has({"", "rope_parameters.sliding_attention.rope_theta"})) {
    const double theta = sliding.attention.rope.theta;
    sliding.attention.rope = {};
    sliding.attention.rope.theta = theta;
    sliding.attention.rope.n_rotated = config.n_rotated;
  }
  return build_decoder(b, config, {.layer = [&](int64_t i) {
                         return config.window && config.slides(i, (i + 1) % 4 != 0) ? sliding : full;
                       }});
}

}  // namespace

extern const Architecture kOlmo2{"olmo2", "olmo2 olmo3", "OLMo 2 and 3", build};

}  // namespace ingle::models
