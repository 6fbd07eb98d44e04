// K-EXAONE: windows with RoPE, full layers without, norms over heads, DeepSeek-V3's experts.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer sliding{usual_attention(config), usual_mlp(config)};
  sliding.attention.head_norms = true;
  const Moe moe = sigmoid_moe(config);
  const Names names("model.layers.", {{"exp_probs_b", "mlp.e_score_correction_bias"}});
  return build_decoder(b, config, {.names = names, .layer = [&](int64_t i) {
                                     Layer layer = sliding;
                                     if (!config.slides(i, false)) {
                                       layer.attention.rotary = !config.window;
                                       layer.attention.window = 0;
                                     }
                                     if (!is_dense(config, i)) layer.moe = moe;
                                     return layer;
                                   }});
}

}  // namespace

extern const Architecture kExaoneMoe{"exaone-moe", "exaone_moe", "K-EXAONE", build};

}  // namespace ingle::models
