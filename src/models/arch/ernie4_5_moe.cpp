// ERNIE 4.5 with experts: softmax scores, a correction that chooses, shared experts.
#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr Key kLast{"", "moe_layer_end_index"};

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer dense{usual_attention(config), usual_mlp(config)};
  dense.attention.qkv_bias = dense.attention.output_bias = dense.mlp.bias =
      presence_of(config, {"", "use_bias"}, false);
  dense.attention.rope.pairs = Pairs::adjacent;
  Layer sparse = dense;
  sparse.moe = usual_moe(config, true);
  sparse.moe->correction = true;
  int64_t last = config.find_int(kLast).value_or(-1);
  if (last < 0) last = config.n_layers - 1;
  const Names names("model.layers.", {{"exp_probs_b", "mlp.moe_statics.e_score_correction_bias"}});
  return build_decoder(b, config, {.names = names, .layer = [&](int64_t i) {
                                     return is_dense(config, i) || i > last ? dense : sparse;
                                   }});
}

}  // namespace

extern const Architecture kErnie45Moe{"ernie4_5-moe", "ernie4_5_moe", "ERNIE 4.5, with experts", build};

}  // namespace ingle::models
