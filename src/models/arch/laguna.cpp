// Laguna: layers differ in their number of heads and in RoPE; each head's output is gated; experts by
// sigmoids.
#include "core/error.h"
#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr Key kHeads{"attention.head_count", "num_attention_heads_per_layer"}, kGating{"", "gating"};
constexpr Key kInput{"", "moe_apply_router_weight_on_input"};

// true, or one of the kinds by name.
const std::string* gating_kind(const Config& config) {
  const formats::MetaValue* value = config.file().meta("gating");
  return value && std::holds_alternative<std::string>(*value) ? config.find_string(kGating) : nullptr;
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer full{usual_attention(config, "full_attention"), usual_mlp(config)};
  full.attention.head_norms = true;
  full.attention.qkv_bias = full.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  const std::string* kind = gating_kind(config);
  full.attention.gate = {Activation::softplus,
                         kind && *kind != "per-head" ? AttentionGate::values : AttentionGate::heads};
  Layer sliding = full;
  full.attention.window = 0;
  sliding.attention.rope = read_rope(config, "sliding_attention");
  const auto heads = config.find_list(kHeads);
  if (heads && static_cast<int64_t>(heads->size()) != config.n_layers)
    config.refuse(kHeads, format("has {} entries for {} layers", heads->size(), config.n_layers));
  Moe moe = sigmoid_moe(config);
  moe.router.normalise = true;
  moe.router.softcap =
      static_cast<float>(config.find_float({"", "moe_router_logit_softcapping"}).value_or(0));
  moe.weigh_input = config.find_bool(kInput).value_or(false);
  const Names names("model.layers.", {{"attn_gate", "self_attn.g_proj"},
                                      {"exp_probs_b", "mlp.experts.e_score_correction_bias"},
                                      {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                      {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                      {"ffn_down_shexp", "mlp.shared_expert.down_proj"}});
  return build_decoder(
      b, config, {.names = names, .layer = [&](int64_t i) {
                    Layer layer = config.slides(i, i % 4 != 0 && config.window) ? sliding : full;
                    if (heads)
                      layer.attention.heads.n_heads = static_cast<int32_t>((*heads)[static_cast<size_t>(i)]);
                    if (!is_dense(config, i)) layer.moe = moe;
                    return layer;
                  }});
}

}  // namespace

extern const Architecture kLaguna{"laguna", "laguna", "Laguna", build};

}  // namespace ingle::models
