// Gemma 4 (text): windowed layers with a full one between, whose heads are wider and turn a quarter of their
// pairs; norms around every block and on q, k and v; embeddings of each layer's own, or experts beside the
// feed-forward block. Google, 2026.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "models/architecture.h"
#include "models/gemma_parts.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames = gemma_names({{"ffn_gate_inp", "router.proj"},
                                  {"ffn_gate_inp_scale", "router.scale", "ffn_gate_inp.scale"},
                                  {"ffn_exps_scale", "router.per_expert_scale", "ffn_down_exps.scale"},
                                  {"ffn_gate_up_exps", "experts.gate_up_proj"},
                                  {"ffn_down_stack", "experts.down_proj"},
                                  {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
                                  {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
                                  {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
                                  {"layer_output_scale", "layer_scalar"}});

SharedAttention::Layer attention_of(const Flow& f, int64_t i, bool slides) {
  const Config& config = f.config;
  const std::string own = "per_layer_config." + std::to_string(i) + ".";
  const auto number = [&](const char* gguf, const std::string& key, const char* global, int64_t otherwise) {
    const std::string names = slides ? own + key : own + key + "|" + global;
    const Key k(gguf, names.c_str());
    return static_cast<int32_t>(config.has(k) ? config.need_int(k, 1, 1 << 16) : otherwise);
  };
  constexpr Key kKvHeads{"attention.head_count_kv"};
  SharedAttention::Layer a;
  a.heads.n_heads = static_cast<int32_t>(config.n_heads);
  a.heads.n_kv_heads = number("", "num_key_value_heads", "num_global_key_value_heads", config.n_kv_heads);
  if (const auto list = config.find_list(kKvHeads); list && static_cast<int64_t>(list->size()) > i)
    a.heads.n_kv_heads =
        static_cast<int32_t>(std::clamp<int64_t>((*list)[static_cast<size_t>(i)], 1, config.n_heads));
  a.heads.dk = a.heads.dv =
      number(slides ? "attention.key_length_swa" : "", "head_dim", "global_head_dim", config.dk);
  a.window = slides ? config.window.value_or(0) : 0;
  a.v_is_k = !slides && (config.is_gguf() ? !f.holds(i, "attn_v")
                                          : config.find_bool({"", "attention_k_eq_v"}).value_or(false));
  if (a.heads.n_heads % a.heads.n_kv_heads != 0)
    fail(Code::corrupt, config.file().name() + ", key num_key_value_heads",
         format("layer {} has {} for {} heads", i, a.heads.n_kv_heads, a.heads.n_heads));
  return a;
}

// GGUF has factors for full layers, which stop the pairs that do not turn.
backends::PlanRotation rotation(Flow& f, bool slides, int64_t head_width) {
  const char* kind = slides ? "sliding_attention" : "full_attention";
  if (!f.config.is_gguf() || slides) return rotation_of_layers(f.config, kind, head_width);
  Rope rope = read_rope(f.config, kind);
  read_gguf_factors(f.b, f.config, rope);
  return rotation_of(rope);
}

// x += post(norm_1(mlp(norm(x))) + norm_2(experts(pre_2(x)))), routed by x itself.
void experts(Flow& f, int64_t i, Id x, int64_t width) {
  const int64_t hidden = f.config.hidden;
  const auto norm = [&](std::string_view role) { return f.rms(f.name(i, role), hidden); };
  const Id in = f.normed(x, norm("ffn_norm"), hidden);
  const Id g = f.linear(in, f.weight(f.name(i, "ffn_gate"), width, hidden), "ffn_gate", width);
  const Id u = f.linear(in, f.weight(f.name(i, "ffn_up"), width, hidden), "ffn_up", width);
  f.multiply(u, g, Activation::gelu_tanh);
  const Id dense = f.linear(u, f.weight(f.name(i, "ffn_down"), hidden, width), "ffn_dense", hidden);
  f.norm(dense, dense, norm("post_ffw_norm_1"), hidden);

  Moe spec = usual_moe(f.config, true);
  const op::Moe moe = claim_moe(f.b, f.config, f.names, i, spec);
  RouterSpec route = moe.route;
  route.expert_scale = f.b.made_vector(f.b.flat_values(f.name(i, "ffn_exps_scale"), moe.route.n_experts));
  std::vector<float> scale = f.b.flat_values(f.name(i, "ffn_gate_inp_scale"), hidden);
  for (float& s : scale) s /= std::sqrt(static_cast<float>(hidden));
  NormSpec router = f.bare_rms();
  router.weight = f.b.made_vector(std::move(scale));
  const auto n = static_cast<int64_t>(route.n_used), inner = spec.width * n;
  const Id logits = f.linear(f.normed(x, router, hidden), moe.router, "expert_logits", route.n_experts);
  const Id routes = f.temp("expert_routes", 2 * n), gate = f.temp("expert_gate", inner),
           up = f.temp("expert_up", inner), each = f.temp("experts", hidden * n),
           sum = f.temp("expert_sum", hidden);
  const Id chosen_in = f.normed(x, norm("pre_ffw_norm_2"), hidden);
  f.b.emit(op::Route{logits, routes, route});
  f.b.emit(op::ExpertLinear{chosen_in, up, routes, moe.up, route.n_used, false, false});
  f.b.emit(op::ExpertLinear{chosen_in, gate, routes, moe.gate, route.n_used, false, false});
  f.b.emit(op::Glu{gate, up, up, Activation::gelu_tanh});
  f.b.emit(op::ExpertLinear{up, each, routes, moe.down, route.n_used, true, false});
  f.b.emit(op::Combine{each, routes, sum, route.n_used, true});
  f.norm(sum, sum, norm("post_ffw_norm_2"), hidden);
  f.b.emit(op::Add{dense, sum, dense});
  f.norm(dense, dense, norm("post_ffw_norm"), hidden);
  f.b.emit(op::Add{x, dense, x});
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  const std::vector<bool> sliding = sliding_layers(config);
  SharedAttention attention(f, config.n_layers - config.find_int(kSharedLayers).value_or(0));
  const bool has_experts = config.is_gguf() ? config.find_int("expert_count").value_or(0) > 0
                                            : config.find_bool({"", "enable_moe_block"}).value_or(false);
  const Id x = f.embed(std::sqrt(static_cast<float>(config.hidden))), layer_out = b.buffer(config.hidden);
  std::optional<LayerEmbeddings> embeddings;
  if (config.find_int(kLayerWidth).value_or(0) > 0) embeddings.emplace(f, x);
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    const bool slides = sliding[static_cast<size_t>(i)];
    SharedAttention::Layer a = attention_of(f, i, slides);
    a.rotation = b.rotation(rotation(f, slides, a.heads.dk));
    const auto norm = [&](std::string_view role) { return f.rms(f.name(i, role), config.hidden); };
    attention.emit(i, a, f.normed(x, norm("attn_norm"), config.hidden), x, norm("post_attention_norm"));
    const int64_t width = b.rows_of(with_suffix(f.name(i, "ffn_gate"), ".weight"));
    if (has_experts)
      experts(f, i, x, width);
    else
      f.mlp(i, x, width, Activation::gelu_tanh, norm("ffn_norm"), norm("post_ffw_norm"));
    if (embeddings) {
      embeddings->emit(i, x, layer_out);
      b.emit(op::Add{x, layer_out, x});
    }
    b.emit(op::Scale{x, x, flat_values(f, f.name(i, "layer_output_scale"), 1)[0]});
  }
  return f.finish(
      x, f.rms(f.names.of_model("output_norm"), config.hidden), 1,
      static_cast<float>(config.positive_or({"final_logit_softcapping", "final_logit_softcapping"}, 0)));
}

}  // namespace

extern const Architecture kGemma4{"gemma4", "gemma4_text", "Gemma 4, text", build};

}  // namespace ingle::models
