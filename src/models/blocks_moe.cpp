#include "models/blocks_moe.h"

#include <algorithm>

#include "backends/route.h"
#include "core/error.h"

namespace ingle::models {
namespace {

using graph::GraphBuilder;
using graph::Part;
using graph::TensorName;

constexpr Key kExperts{
    "expert_count",
    "num_local_experts|num_experts|n_routed_experts|moe_num_experts|ffn_config.moe_num_experts"};
constexpr Key kUsed{
    "expert_used_count",
    "num_experts_per_tok|moe_topk|moe_k|num_experts_per_token|top_k_experts|ffn_config.moe_top_k"};
constexpr Key kWidth{"expert_feed_forward_length|feed_forward_length",
                     "moe_intermediate_size|intermediate_size|ffn_config.ffn_hidden_size"};
constexpr Key kShared{"expert_shared_count", "n_shared_experts|num_shared_experts|moe_num_shared_experts"};
constexpr Key kSharedWidth{"expert_shared_feed_forward_length", "shared_expert_intermediate_size"};
constexpr Key kNormalise{"expert_weights_norm", "norm_topk_prob"};
constexpr Key kScale{"expert_weights_scale",
                     "routed_scaling_factor|router_scaling_factor|route_scale|moe_routed_scaling_factor"};
constexpr Key kGroups{"expert_group_count", "n_group"};
constexpr Key kGroupsUsed{"expert_group_used_count", "topk_group"};
constexpr Key kInterval{"interleave_moe_layer_step", "interleave_moe_layer_step|moe_layer_interval"};
constexpr Key kDense{"leading_dense_block_count",
                     "first_k_dense_replace|num_dense_layers|moe_layer_start_index"};
constexpr Key kGating{"expert_gating_func", ""};

constexpr int64_t kMost = int64_t{1} << 24;

// A tensor that some checkpoints store under a name that ends in ".weight" and some do not.
TensorName bare_or_weight(const GraphBuilder& b, const TensorName& name) {
  const TensorName weight = with_suffix(name, ".weight");
  return b.has(weight) ? weight : name;
}

// The name of one expert's tensor.
TensorName of_expert(TensorName name, int32_t expert) {
  if (const size_t at = name.hugging_face.find("{}"); at != name.hugging_face.npos)
    name.hugging_face.replace(at, 2, std::to_string(expert));
  return name;
}

struct Claim {
  GraphBuilder& b;
  const Names& names;
  const Config& config;
  int64_t layer;
  const Moe& moe;
  int64_t hidden, n, width;

  TensorName name(std::string_view role) const { return names.of_layer(layer, role); }
  bool gguf() const { return config.is_gguf(); }

  // Matrix e of the bank by f(e), for all experts; they are consecutive.
  template <class F>
  BankSpec bank(F f) const {
    BankSpec out;
    out.count = static_cast<int32_t>(n);
    for (int32_t e = 0; e < n; ++e) {
      const Id id = f(e);
      if (e == 0) out.weight = id;
    }
    return out;
  }

  // Rows [at, at + rows) of each expert's matrix in a stack [expert, all, cols].
  BankSpec stacked(const TensorName& stack, int64_t at, int64_t rows, int64_t all, int64_t cols) const {
    return bank([&](int32_t e) {
      return b.part(stack, {n, all, cols}, rows, cols, {.first_row = e * all + at, .slice_rows = rows});
    });
  }
  // Columns start, start + step, … of each expert's matrix in a stack [expert, cols, all].
  BankSpec turned(const TensorName& stack, int64_t start, int64_t step, int64_t rows, int64_t all,
                  int64_t cols) const {
    return bank([&](int32_t e) {
      return b.part(
          stack, {n, cols, all}, rows, cols,
          {.first_row = e * cols, .slice_rows = cols, .transposed = true, .start = start, .step = step});
    });
  }
  BankSpec one_by_one(std::string_view role, int64_t rows, int64_t cols) const {
    const TensorName all = name(role);
    return bank([&](int32_t e) {
      return b.part(with_suffix(of_expert(all, e), ".weight"), {rows, cols}, rows, cols, {});
    });
  }

  void matrices(op::Moe& o) const {
    if (const TensorName both = with_suffix(name("ffn_gate_up_exps"), ".weight"); gguf() && b.has(both)) {
      o.gate = stacked(both, 0, width, 2 * width, hidden);
      o.up = stacked(both, width, width, 2 * width, hidden);
      o.down = stacked(with_suffix(name("ffn_down_exps"), ".weight"), 0, hidden, hidden, width);
      return;
    }
    if (gguf()) {
      o.gate = stacked(with_suffix(name("ffn_gate_exps"), ".weight"), 0, width, width, hidden);
      o.up = stacked(with_suffix(name("ffn_up_exps"), ".weight"), 0, width, width, hidden);
      o.down = stacked(with_suffix(name("ffn_down_exps"), ".weight"), 0, hidden, hidden, width);
      return;
    }
    const TensorName gate_up = bare_or_weight(b, name("ffn_gate_up_exps")),
                     down = bare_or_weight(b, name("ffn_down_stack"));
    switch (moe.layout) {
      case ExpertLayout::usual:
        if (b.has(gate_up)) {
          o.gate = stacked(gate_up, 0, width, 2 * width, hidden);
          o.up = stacked(gate_up, width, width, 2 * width, hidden);
          o.down = stacked(down, 0, hidden, hidden, width);
        } else {
          o.gate = one_by_one("ffn_gate_exps", width, hidden);
          o.up = one_by_one("ffn_up_exps", width, hidden);
          o.down = one_by_one("ffn_down_exps", hidden, width);
        }
        return;
      case ExpertLayout::transposed:
      case ExpertLayout::interleaved: {
        const bool alternate = moe.layout == ExpertLayout::interleaved;
        const int64_t step = alternate ? 2 : 1;
        if (!b.turns(
                gate_up)) {  // blocks of codes lie along the rows of the product, stored [expert, out, in]
          const auto half = [&](int64_t start) {
            return bank([&](int32_t e) {
              return b.part(
                  gate_up, {n, 2 * width, hidden}, width, hidden,
                  {.first_row = e * 2 * width, .slice_rows = 2 * width, .start = start, .step = step});
            });
          };
          o.gate = half(0);
          o.up = half(alternate ? 1 : width);
          o.down = stacked(down, 0, hidden, hidden, width);
          return;
        }
        o.gate = turned(gate_up, 0, step, width, 2 * width, hidden);
        o.up = turned(gate_up, alternate ? 1 : width, step, width, 2 * width, hidden);
        o.down = turned(down, 0, 1, hidden, hidden, width);
        return;
      }
      case ExpertLayout::flat: {
        const Shape shape{n * width, hidden};
        const auto rows = [&](std::string_view role, bool transposed) {
          const TensorName all = bare_or_weight(b, name(role));
          return bank([&](int32_t e) {
            return b.part(all, shape, transposed ? hidden : width, transposed ? width : hidden,
                          {.first_row = e * width, .slice_rows = width, .transposed = transposed});
          });
        };
        o.gate = rows("ffn_gate_exps", false);
        o.up = rows("ffn_up_exps", false);
        o.down = rows("ffn_down_exps", true);
        return;
      }
    }
  }

  void biases(op::Moe& o) const {
    if (!moe.expert_bias) return;
    if (gguf()) {
      o.gate.bias = bias(with_suffix(name("ffn_gate_exps"), ".bias"), width);
      o.up.bias = bias(with_suffix(name("ffn_up_exps"), ".bias"), width);
      o.down.bias = bias(with_suffix(name("ffn_down_exps"), ".bias"), hidden);
      return;
    }
    // Beside the stacks: [expert, 2 width], in the order of their rows.
    const std::vector<float> both = b.values(with_suffix(name("ffn_gate_up_exps"), "_bias"), {n, 2 * width});
    std::vector<float> gate, up;
    for (int64_t i = 0; i < n * width; ++i) {
      const int64_t e = i / width, k = i % width;
      const bool alternate = moe.layout == ExpertLayout::interleaved;
      gate.push_back(both[static_cast<size_t>(e * 2 * width + (alternate ? 2 * k : k))]);
      up.push_back(both[static_cast<size_t>(e * 2 * width + (alternate ? 2 * k + 1 : width + k))]);
    }
    o.gate.bias = b.made_vector(std::move(gate));
    o.up.bias = b.made_vector(std::move(up));
    o.down.bias = bias(with_suffix(name("ffn_down_stack"), "_bias"), hidden);
  }
  Id bias(const TensorName& name, int64_t rows) const { return b.made_vector(b.values(name, {n, rows})); }

  void shared(op::Moe& o) const {
    if (moe.shared_width == 0) return;
    const int64_t w = moe.shared_width;
    const TensorName up = with_suffix(name("ffn_up_shexp"), ".weight");
    if (moe.shared_fused && !gguf()) {
      o.shared_gate.weight = b.matrix(up, w, hidden, {.whole = 2 * w});
      o.shared_up.weight = b.matrix(up, w, hidden, {.first = w, .whole = 2 * w});
    } else {
      o.shared_gate.weight = b.matrix(with_suffix(name("ffn_gate_shexp"), ".weight"), w, hidden);
      o.shared_up.weight = b.matrix(up, w, hidden);
    }
    o.shared_down.weight = b.matrix(with_suffix(name("ffn_down_shexp"), ".weight"), hidden, w);
    if (moe.shared_gate)
      o.shared_weight.weight = b.matrix(with_suffix(name("ffn_gate_inp_shexp"), ".weight"), 1, hidden);
  }
};

}  // namespace

Moe usual_moe(const Config& config, bool normalise) {
  Moe m;
  m.router.n_experts = static_cast<int32_t>(config.need_int(kExperts, 1, 1 << 16));
  m.router.n_used = static_cast<int32_t>(config.need_int(kUsed, 1, m.router.n_experts));
  m.width = config.need_int(kWidth, 1, kMost);
  m.router.normalise = config.find_bool(kNormalise).value_or(normalise);
  m.router.scale = config.positive_or(kScale, 1);
  if (config.has(kSharedWidth))
    m.shared_width = config.need_int(kSharedWidth, 0, kMost);
  else if (config.has(kShared))
    m.shared_width = config.need_int(kShared, 0, 1 << 16) * m.width;
  return m;
}

Moe sigmoid_moe(const Config& config) {
  Moe m = usual_moe(config, true);
  if (const auto gating = config.find_int(kGating); gating && *gating != 2)
    config.refuse(kGating, format("is {}, expected 2 (sigmoid)", *gating));
  m.router.score = RouterScore::sigmoid;
  m.correction = true;
  read_groups(config, m);
  if (m.router.n_groups > 1) m.router.group_best = 2;
  return m;
}

void read_groups(const Config& config, Moe& m) {
  if (!config.has(kGroups)) return;
  m.router.n_groups = static_cast<int32_t>(config.need_int(kGroups, 1, m.router.n_experts));
  m.router.n_groups_used = static_cast<int32_t>(config.need_int(kGroupsUsed, 1, m.router.n_groups));
}

bool gguf_scores_by_sigmoids(const Config& config, bool otherwise) {
  const int64_t how = config.find_int(kGating).value_or(0);
  if (how < 0 || how > 2) config.refuse(kGating, format("is {}, expected 1 (softmax) or 2 (sigmoid)", how));
  return how == 0 ? otherwise : how == 2;
}

bool is_dense(const Config& config, int64_t layer) {
  const auto holds = [&](const char* role) {
    return config.file().find("blk." + std::to_string(layer) + role + ".weight") != nullptr;
  };
  if (config.is_gguf() && holds(".ffn_up")) return !holds(".ffn_gate_inp");
  if (const auto* kinds = config.find_strings({"", "mlp_layer_types"})) {
    if (static_cast<int64_t>(kinds->size()) != config.n_layers)
      config.refuse({"", "mlp_layer_types"},
                    format("has {} entries for {} layers", kinds->size(), config.n_layers));
    return (*kinds)[static_cast<size_t>(layer)] == "dense";
  }
  if (const auto dense = config.find_ints({"", "mlp_only_layers"});
      dense && std::find(dense->begin(), dense->end(), layer) != dense->end())
    return true;
  if (const auto step = config.find_int({"", "decoder_sparse_step"});
      step && *step > 1 && (layer + 1) % *step != 0)
    return true;
  if (const auto sparse = config.find_ints({"", "moe_layers"}))
    return std::find(sparse->begin(), sparse->end(), layer) == sparse->end();
  if (config.has(kInterval) && (layer + 1) % config.need_int(kInterval, 1, config.n_layers) != 0) return true;
  return config.has(kDense) && layer < config.need_int(kDense, 0, config.n_layers);
}

op::Moe claim_moe(GraphBuilder& b, const Config& config, const Names& names, int64_t i, const Moe& moe) {
  op::Moe o{};
  const int32_t n = moe.router.n_experts;
  const Claim claim{b, names, config, i, moe, config.hidden, n, moe.width};
  const TensorName router = names.of_layer(i, "ffn_gate_inp");
  o.router.weight = b.matrix(with_suffix(router, ".weight"), n, config.hidden);
  if (moe.router_bias) o.router.bias = b.vector(with_suffix(router, ".bias"), n);
  backends::check_router(moe.router);
  o.route = moe.router;
  if (moe.correction) {
    TensorName correction = names.of_layer(i, "exp_probs_b");
    const TensorName with_bias{correction.gguf + ".bias", correction.hugging_face};
    if (b.has(with_bias)) correction = with_bias;  // one converter leaves the suffix out
    o.route.correction = b.vector(correction, n);
  }
  claim.matrices(o);
  claim.biases(o);
  claim.shared(o);
  o.act = moe.act;
  o.bound = moe.bound;
  o.weigh_input = moe.weigh_input;
  o.scale = moe.scale;
  return o;
}

}  // namespace ingle::models
