// DeepSeek-V2 and its kin: latent attention, experts by softmax out of the best groups. arXiv:2405.04434.
// GGUF calls every model of this shape so and says how experts score; some have no experts (Youtu).
#include "core/error.h"
#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr Key kMethod{"", "topk_method"};

Moe experts(const Config& config) {
  // Files that do not say how: those with a correction score by sigmoids.
  const std::string last = "blk." + std::to_string(config.n_layers - 1) + ".exp_probs_b.bias";
  if (config.is_gguf() && gguf_scores_by_sigmoids(config, config.file().find(last) != nullptr))
    return sigmoid_moe(config);
  Moe moe = usual_moe(config, false);
  moe.router.normalise = config.find_bool({"expert_weights_norm", ""}).value_or(false);
  const std::string* method = config.find_string(kMethod);
  if (method && *method != "greedy" && *method != "group_limited_greedy")
    config.refuse(kMethod,
                  format("'{}' is not understood; expected greedy or group_limited_greedy", *method));
  if (method ? *method != "greedy" : config.has({"expert_group_count", ""})) read_groups(config, moe);
  return moe;
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer dense;
  dense.mla = usual_mla(config);
  dense.mlp = usual_mlp(config);
  Layer sparse = dense;
  const bool has_experts = !config.is_gguf() || config.find_int({"expert_count", ""}).value_or(0) > 0;
  if (has_experts) sparse.moe = experts(config);
  return build_decoder(b, config, {.layer = [&](int64_t i) { return is_dense(config, i) ? dense : sparse; }});
}

}  // namespace

extern const Architecture kDeepseekV2{"deepseek2", "deepseek_v2", "DeepSeek V2", build};

}  // namespace ingle::models
