// Nemotron-H: Mamba 2, feed-forward blocks, attention without positions and experts, each a layer of its own.
// NVIDIA, arXiv:2504.03624.
#include <map>

#include "core/error.h"
#include "models/architecture.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames("backbone.layers.", {{"token_embd", "backbone.embeddings"},
                                        {"output_norm", "backbone.norm_f"},
                                        {"attn_norm", "norm"},
                                        {"attn_q", "mixer.q_proj"},
                                        {"attn_k", "mixer.k_proj"},
                                        {"attn_v", "mixer.v_proj"},
                                        {"attn_output", "mixer.o_proj"},
                                        {"ffn_up", "mixer.up_proj"},
                                        {"ffn_down", "mixer.down_proj"},
                                        {"ffn_gate_inp", "mixer.gate"},
                                        {"exp_probs_b", "mixer.gate.e_score_correction_bias"},
                                        {"ffn_up_exps", "mixer.experts.{}.up_proj"},
                                        {"ffn_down_exps", "mixer.experts.{}.down_proj"},
                                        {"ffn_up_shexp", "mixer.shared_experts.up_proj"},
                                        {"ffn_down_shexp", "mixer.shared_experts.down_proj"},
                                        {"ssm_in", "mixer.in_proj"},
                                        {"ssm_conv1d", "mixer.conv1d"},
                                        {"ssm_dt", "mixer.dt_bias"},
                                        {"ssm_a", "mixer.A_log"},
                                        {"ssm_d", "mixer.D"},
                                        {"ssm_norm", "mixer.norm"},
                                        {"ssm_out", "mixer.out_proj"}});

// By a list, or by a string with a letter for each layer.
std::vector<std::string> kinds_of(const Flow& f) {
  const Config& config = f.config;
  constexpr Key kPattern{"", "hybrid_override_pattern"};
  const std::string* pattern = config.find_string(kPattern);
  if (!pattern || config.has({"", "layers_block_type"}))
    return layer_kinds(
        f, {"", "layers_block_type"},
        {"linear_attention", "mamba", "mlp", "full_attention", "attention", "moe"},
        {{"ssm_in", "mamba"}, {"attn_q", "attention"}, {"ffn_gate_inp", "moe"}, {"ffn_up", "mlp"}});
  static const std::map<char, std::string> kLetters = {
      {'M', "mamba"}, {'*', "attention"}, {'-', "mlp"}, {'E', "moe"}};
  std::vector<std::string> kinds;
  for (const char c : *pattern) {
    const auto kind = kLetters.find(c);
    if (kind == kLetters.end())
      config.refuse(kPattern, format("the letter '{}' stands for no kind of layer", c));
    kinds.push_back(kind->second);
  }
  if (static_cast<int64_t>(kinds.size()) != config.n_layers)
    config.refuse(kPattern, format("has {} letters, expected {}", kinds.size(), config.n_layers));
  return kinds;
}

// Without gates: down(relu(up(x))^2), the shared one too.
void experts(Flow& f, int64_t i, Id x, const NormSpec& norm) {
  const Moe usual = sigmoid_moe(f.config);
  const int64_t hidden = f.config.hidden, n = usual.router.n_experts;
  const auto bank = [&](std::string_view role, int64_t rows, int64_t cols) {
    BankSpec out;
    out.count = usual.router.n_experts;
    for (int64_t e = 0; e < n; ++e) {
      graph::TensorName name = f.name(i, role);
      if (f.config.is_gguf()) {
        const Id id = f.b.part(with_suffix(name, ".weight"), {n, rows, cols}, rows, cols,
                               {.first_row = e * rows, .slice_rows = rows});
        if (e == 0) out.weight = id;
        continue;
      }
      name.hugging_face.replace(name.hugging_face.find("{}"), 2, std::to_string(e));
      const Id id = f.b.part(with_suffix(name, ".weight"), {rows, cols}, rows, cols, {});
      if (e == 0) out.weight = id;
    }
    return out;
  };
  const int64_t shared = f.config.need_int(
      {"expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size"}, 1, 1 << 24);
  op::Moe o{};
  o.x = x, o.norm = norm, o.act = Activation::relu2;
  o.router = f.weight(f.name(i, "ffn_gate_inp"), n, hidden);
  o.route = usual.router;
  graph::TensorName correction = f.name(i, "exp_probs_b");
  correction.gguf += ".bias";
  o.route.correction = f.b.vector(correction, n);
  o.up = bank("ffn_up_exps", usual.width, hidden);
  o.down = bank("ffn_down_exps", hidden, usual.width);
  o.shared_up = f.weight(f.name(i, "ffn_up_shexp"), shared, hidden);
  o.shared_down = f.weight(f.name(i, "ffn_down_shexp"), hidden, shared);
  f.b.emit(o);
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  const Mamba2 mamba = read_mamba2(config, f.eps(),
                                   {.heads = {"", "mamba_num_heads"},
                                    .head_width = {"", "mamba_head_dim"},
                                    .groups = {"", "n_groups"},
                                    .states = {"", "ssm_state_size"},
                                    .taps = {"", "conv_kernel"},
                                    .conv_bias = {"", "use_conv_bias"},
                                    .bias = {"", "use_bias|mamba_proj_bias"}});
  const std::vector<std::string> kinds = kinds_of(f);
  if (config.has({"", "moe_latent_size"}))
    config.refuse({"", "moe_latent_size"}, "experts in a latent space");
  const Id x = f.embed();
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    const std::string& kind = kinds[static_cast<size_t>(i)];
    const Place at{f, i, x, f.rms(f.name(i, "attn_norm"), config.hidden)};
    if (kind == "linear_attention" || kind == "mamba") {
      emit_mamba2(at, mamba);
    } else if (kind == "full_attention" || kind == "attention") {
      emit_attention(at, usual_gated_attention(config));
    } else if (kind == "mlp") {
      const int64_t width = b.rows_of(with_suffix(f.name(i, "ffn_up"), ".weight"));
      const Id up = f.linear(f.normed(x, at.norm, config.hidden),
                             f.weight(f.name(i, "ffn_up"), width, config.hidden), "ffn_up", width);
      b.emit(op::Activate{up, up, Activation::relu2});
      f.project(up, x, f.weight(f.name(i, "ffn_down"), config.hidden, width));
    } else {
      experts(f, i, x, at.norm);
    }
  }
  b.leave_out_under({"", "mtp."});  // predicts further tokens
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden));
}

}  // namespace

extern const Architecture kNemotronH{"nemotron_h nemotron_h_moe", "nemotron_h", "Nemotron-H", build};

}  // namespace ingle::models
