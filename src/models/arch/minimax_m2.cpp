// MiniMax M2: norms over the rows of q and k, partial RoPE, experts by sigmoids that a correction balances.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qk_norm = {NormKind::rms, QkNorm::row};
  layer.attention.window = 0;
  layer.moe = sigmoid_moe(config);
  layer.moe->router.normalise = true;
  const Names names("model.layers.", {{"ffn_gate_inp", "block_sparse_moe.gate"},
                                      {"exp_probs_b", "block_sparse_moe.e_score_correction_bias"},
                                      {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1"},
                                      {"ffn_up_exps", "block_sparse_moe.experts.{}.w3"},
                                      {"ffn_down_exps", "block_sparse_moe.experts.{}.w2"}});
  return build_decoder(b, config, {.names = names, .layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kMiniMaxM2{"minimax-m2", "minimax_m2", "MiniMax M2", build};

}  // namespace ingle::models
