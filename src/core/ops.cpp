#include "core/ops.h"

#include <iterator>

namespace ingle {

const char* op_name(const Op& op) {
  static constexpr const char* kNames[] = {"embed",
                                           "add_positions",
                                           "xielu",
                                           "clamp",
                                           "scale_by_position",
                                           "norm",
                                           "linear",
                                           "rope",
                                           "store_kv",
                                           "attend",
                                           "glu",
                                           "activate",
                                           "add",
                                           "scale",
                                           "softcap",
                                           "mix",
                                           "match_magnitude",
                                           "sparsify",
                                           "scale_columns",
                                           "conv",
                                           "scan",
                                           "selective",
                                           "gather_wanted",
                                           "gate",
                                           "copy",
                                           "head_linear",
                                           "route",
                                           "expert_linear",
                                           "combine",
                                           "output",
                                           "attention_input",
                                           "project_residual",
                                           "gated_ffn",
                                           "mla",
                                           "moe",
                                           "head"};
  static_assert(std::size(kNames) == std::variant_size_v<Op>);
  return kNames[op.index()];
}

}  // namespace ingle
