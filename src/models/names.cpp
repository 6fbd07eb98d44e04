#include "models/names.h"

#include <algorithm>

namespace ingle::models {
namespace {

constexpr TensorRole kLlama[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"pre_ffw_norm", "pre_feedforward_layernorm"},  // ffn_norm's name where blocks have norms after them too
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    // Mixtures of experts: "{}" is an expert's number. Some are stacked instead.
    {"ffn_gate_inp", "mlp.gate"},
    {"exp_probs_b", "mlp.gate.e_score_correction_bias"},
    {"ffn_gate_exps", "mlp.experts.{}.gate_proj"},
    {"ffn_up_exps", "mlp.experts.{}.up_proj"},
    {"ffn_down_exps", "mlp.experts.{}.down_proj"},
    {"ffn_gate_up_exps", "mlp.experts.gate_up_proj"},
    {"ffn_down_stack", "mlp.experts.down_proj"},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
    // Latent attention.
    {"attn_q_a", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"attn_q_b", "self_attn.q_b_proj"},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"attn_kv_b", "self_attn.kv_b_proj"},
    {"attn_sinks", "self_attn.sinks"},
};

}  // namespace

TensorRole Names::find(std::string_view role) const {
  const auto is = [&](const TensorRole& r) { return r.role == role; };
  if (const auto own = std::ranges::find_if(changes_, is); own != changes_.end()) return *own;
  if (const auto usual = std::ranges::find_if(kLlama, is); usual != std::end(kLlama)) return *usual;
  return {role, {}};
}

graph::TensorName Names::of_layer(int64_t index, std::string_view role) const {
  const TensorRole r = find(role);
  const std::string i = std::to_string(index);
  graph::TensorName name;
  name.gguf = "blk." + i + "." + std::string(r.gguf.empty() ? role : r.gguf);
  if (!r.hugging_face.empty()) name.hugging_face = layers_ + i + "." + std::string(r.hugging_face);
  return name;
}

graph::TensorName Names::of_layer_exactly(int64_t index, std::string_view name) const {
  return {"", layers_ + std::to_string(index) + "." + std::string(name)};
}

graph::TensorName Names::layer(int64_t index) const {
  const std::string i = std::to_string(index) + ".";
  return {"blk." + i, layers_ + i};
}

graph::TensorName Names::of_model(std::string_view role) const {
  const TensorRole r = find(role);
  return {std::string(r.gguf.empty() ? role : r.gguf), std::string(r.hugging_face)};
}

graph::TensorName with_suffix(const graph::TensorName& name, std::string_view suffix) {
  const auto with = [&](const std::string& n) { return n.empty() ? n : n + std::string(suffix); };
  return {with(name.gguf), with(name.hugging_face)};
}

}  // namespace ingle::models
