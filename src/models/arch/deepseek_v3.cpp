// DeepSeek-V3, R1, Kimi K2, Moonlight: latent attention, experts by sigmoids that a correction balances.
// arXiv:2412.19437.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer dense;
  dense.mla = usual_mla(config);
  dense.mlp = usual_mlp(config);
  Layer sparse = dense;
  sparse.moe = sigmoid_moe(config);
  return build_decoder(b, config, {.layer = [&](int64_t i) { return is_dense(config, i) ? dense : sparse; }});
}

}  // namespace

extern const Architecture kDeepseekV3{"", "deepseek_v3 kimi_k2 glm4_moe_lite",
                                      "DeepSeek V3, R1, Kimi K2, Moonlight, GLM 4.7 Flash", build};

}  // namespace ingle::models
