// Qwen3-Next, and Qwen 3.5 (text): three layers of gated delta net to one of gated attention; dense, or with
// experts and a shared one. Norm weights are stored less 1, but for those of the delta net's output. Qwen
// team, 2025 and 2026.
#include "core/error.h"
#include "models/architecture.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames("model.layers.", {{"ssm_in", "linear_attn.in_proj_qkvz"},
                                     {"ssm_ba", "linear_attn.in_proj_ba"},
                                     {"attn_qkv", "linear_attn.in_proj_qkv"},
                                     {"attn_gate", "linear_attn.in_proj_z"},
                                     {"ssm_beta", "linear_attn.in_proj_b"},
                                     {"ssm_alpha", "linear_attn.in_proj_a"},
                                     {"ssm_conv1d", "linear_attn.conv1d"},
                                     {"ssm_a", "linear_attn.A_log"},
                                     {"ssm_dt", "linear_attn.dt_bias"},
                                     {"ssm_norm", "linear_attn.norm"},
                                     {"ssm_out", "linear_attn.out_proj"},
                                     {"ffn_norm", "post_attention_layernorm", "post_attention_norm"},
                                     {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                     {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                     {"ffn_down_shexp", "mlp.shared_expert.down_proj"}});

GatedDelta read_delta(const Config& config) {
  const auto number = [&](Key key, int64_t low) {
    return static_cast<int32_t>(config.need_int(key, low, 1 << 16));
  };
  GatedDelta d;
  d.n_groups = number({"ssm.group_count", "linear_num_key_heads"}, 1);
  d.n_heads = number({"ssm.time_step_rank", "linear_num_value_heads"}, 1);
  d.dk = number({"ssm.state_size", "linear_key_head_dim"}, 1);
  d.dv = config.is_gguf() ? number("ssm.inner_size", d.n_heads) / d.n_heads
                          : number({"", "linear_value_head_dim"}, 1);
  d.taps = number({"ssm.conv_kernel", "linear_conv_kernel_dim"}, 2);
  if (d.n_heads % d.n_groups != 0)
    fail(Code::corrupt, config.file().name() + ", key linear_num_value_heads",
         format("is {}, expected a multiple of {} key heads", d.n_heads, d.n_groups));
  return d;
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config), 1);
  const std::vector<std::string> kinds =
      layer_kinds(f, {"", "layer_types"}, {"linear_attention", "full_attention"},
                  {{"ssm_out", "linear_attention"}, {"attn_q", "full_attention"}});
  const GatedDelta delta = read_delta(config);
  const Id rotation = b.rotation(rotation_of(read_rope(config)));
  const bool experts = config.has({"expert_count", "num_experts"});
  const Id x = f.embed();
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    const Place at{f, i, x, f.rms(f.name(i, "attn_norm"), config.hidden)};
    if (kinds[static_cast<size_t>(i)] == "linear_attention") {
      emit_gated_delta(at, delta);
    } else {
      GatedAttention a = usual_gated_attention(config);
      a.gated = true;
      a.rotation = rotation;
      a.q_norm = f.rms(f.name(i, "attn_q_norm"), config.dk);
      a.k_norm = f.rms(f.name(i, "attn_k_norm"), config.dk);
      emit_attention(at, a);
    }
    const NormSpec norm = f.rms(f.name(i, "ffn_norm"), config.hidden);
    if (experts && !is_dense(config, i)) {
      Moe moe = usual_moe(config, true);
      moe.shared_width = b.rows_of(with_suffix(f.name(i, "ffn_up_shexp"), ".weight"));
      moe.shared_gate = true;
      f.moe(i, x, moe, norm);
    } else {
      f.mlp(i, x, config.n_ffn, Activation::silu, norm);
    }
  }
  b.leave_out_under({"", "mtp."});  // predicts further tokens
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden));
}

}  // namespace

extern const Architecture kQwen3Next{"qwen3next qwen35 qwen35moe", "qwen3_next qwen3_5_text qwen3_5_moe_text",
                                     "Qwen3-Next and Qwen 3.5, text", build};

}  // namespace ingle::models
