// Hunyuan 3: norms over heads, experts by sigmoids that a bias balances.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer dense{usual_attention(config), usual_mlp(config)};
  dense.attention.head_norms = true;
  dense.attention.qkv_bias = dense.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  dense.mlp.bias = presence_of(config, {"", "mlp_bias"}, false);
  Layer sparse = dense;
  sparse.moe = sigmoid_moe(config);
  sparse.moe->router.normalise = true;
  const Names names("model.layers.", {{"ffn_gate_inp", "mlp.router.gate"},
                                      {"exp_probs_b", "mlp.expert_bias"},
                                      {"ffn_gate_shexp", "mlp.shared_mlp.gate_proj"},
                                      {"ffn_up_shexp", "mlp.shared_mlp.up_proj"},
                                      {"ffn_down_shexp", "mlp.shared_mlp.down_proj"}});
  return build_decoder(
      b, config, {.names = names, .layer = [&](int64_t i) { return is_dense(config, i) ? dense : sparse; }});
}

}  // namespace

extern const Architecture kHyV3{"hy_v3", "hy_v3", "Hunyuan 3", build};

}  // namespace ingle::models
