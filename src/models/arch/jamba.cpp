// Jamba: Mamba with norms on steps, B and C, some layers of attention without positions, and experts on some.
// Lieber et al., arXiv:2403.19887.
#include "models/architecture.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames("model.layers.", {{"output_norm", "model.final_layernorm"},
                                     {"ffn_norm", "pre_ff_layernorm"},
                                     {"ffn_gate", "feed_forward.gate_proj"},
                                     {"ffn_up", "feed_forward.up_proj"},
                                     {"ffn_down", "feed_forward.down_proj"},
                                     {"ffn_gate_inp", "feed_forward.router"},
                                     {"ffn_gate_exps", "feed_forward.experts.{}.gate_proj"},
                                     {"ffn_up_exps", "feed_forward.experts.{}.up_proj"},
                                     {"ffn_down_exps", "feed_forward.experts.{}.down_proj"},
                                     {"ffn_gate_up_exps", "feed_forward.experts.gate_up_proj"},
                                     {"ffn_down_stack", "feed_forward.experts.down_proj"},
                                     {"ssm_in", "mamba.in_proj"},
                                     {"ssm_conv1d", "mamba.conv1d"},
                                     {"ssm_x", "mamba.x_proj"},
                                     {"ssm_dt", "mamba.dt_proj"},
                                     {"ssm_dt_norm", "mamba.dt_layernorm"},
                                     {"ssm_b_norm", "mamba.b_layernorm"},
                                     {"ssm_c_norm", "mamba.c_layernorm"},
                                     {"ssm_a", "mamba.A_log"},
                                     {"ssm_d", "mamba.D"},
                                     {"ssm_out", "mamba.out_proj"}});

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  const auto number = [&](Key key) { return config.need_int(key, 0, 1 << 24); };
  // Every `period` layers, `offset` from the start.
  const auto each = [&](const char* period, const char* offset, int64_t i) {
    return i % config.need_int({"", period}, 1, 1 << 16) == number({"", offset});
  };
  Mamba mamba;
  mamba.inner = config.is_gguf() ? number("ssm.inner_size") : number({"", "mamba_expand"}) * config.hidden;
  mamba.n_states = number({"ssm.state_size", "mamba_d_state"});
  mamba.rank = number({"ssm.time_step_rank", "mamba_dt_rank"});
  mamba.taps = static_cast<int32_t>(config.need_int({"ssm.conv_kernel", "mamba_d_conv"}, 2, 64));
  mamba.conv_bias = config.find_bool({"", "mamba_conv_bias"}).value_or(true);
  mamba.bias = config.find_bool({"", "mamba_proj_bias"}).value_or(false) ? Presence::yes : Presence::no;
  mamba.norms = Mamba::weighted;
  mamba.norm_eps = f.eps();
  const bool experts = config.find_int({"expert_count", "num_experts"}).value_or(0) > 1;
  const Id x = f.embed();
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    const Place at{f, i, x, f.rms(f.name(i, "attn_norm"), config.hidden)};
    const bool attends =
        config.is_gguf() ? !f.holds(i, "ssm_in") : each("attn_layer_period", "attn_layer_offset", i);
    if (attends)
      emit_attention(at, usual_gated_attention(config));
    else
      emit_mamba(at, mamba);
    const NormSpec norm = f.rms(f.name(i, "ffn_norm"), config.hidden);
    const bool sparse =
        config.is_gguf() ? f.holds(i, "ffn_gate_inp") : each("expert_layer_period", "expert_layer_offset", i);
    if (experts && sparse)
      f.moe(i, x, usual_moe(config, false), norm);
    else
      f.mlp(i, x, config.n_ffn, Activation::silu, norm);
  }
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden));
}

}  // namespace

extern const Architecture kJamba{"jamba", "jamba", "Jamba", build};

}  // namespace ingle::models
