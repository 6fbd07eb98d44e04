// Mamba, and Falcon-Mamba, which has norms on what its steps, B and C are made of. Gu & Dao,
// arXiv:2312.00752; Zuo et al., arXiv:2410.05355.
#include "models/architecture.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames("backbone.layers.", {{"token_embd", "backbone.embeddings"},
                                        {"output_norm", "backbone.norm_f"},
                                        {"attn_norm", "norm"},
                                        {"ssm_in", "mixer.in_proj"},
                                        {"ssm_conv1d", "mixer.conv1d"},
                                        {"ssm_x", "mixer.x_proj"},
                                        {"ssm_dt", "mixer.dt_proj"},
                                        {"ssm_a", "mixer.A_log"},
                                        {"ssm_d", "mixer.D"},
                                        {"ssm_out", "mixer.out_proj"}});

constexpr double kMixerEps = 1e-6;  // of all released models; GGUF files have no key for it

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  Mamba mamba;
  mamba.inner = config.need_int({"ssm.inner_size", "intermediate_size"}, 1, 1 << 24);
  mamba.n_states = config.need_int({"ssm.state_size", "state_size"}, 1, 1 << 16);
  mamba.rank = config.need_int({"ssm.time_step_rank", "time_step_rank"}, 1, 1 << 16);
  mamba.taps = static_cast<int32_t>(config.need_int({"ssm.conv_kernel", "conv_kernel"}, 2, 64));
  mamba.conv_bias = config.find_bool({"", "use_conv_bias"}).value_or(true);
  if (config.is_gguf())
    mamba.bias = Presence::optional;
  else
    mamba.bias = config.find_bool({"", "use_bias"}).value_or(false) ? Presence::yes : Presence::no;
  if (config.has({"", "mixer_rms_eps"}) || config.find_bool("ssm.dt_b_c_rms").value_or(false)) {
    mamba.norms = Mamba::bare;
    mamba.norm_eps = static_cast<float>(config.positive_or({"", "mixer_rms_eps"}, kMixerEps));
  }
  const Id x = f.embed();
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    emit_mamba({f, i, x, f.rms(f.name(i, "attn_norm"), config.hidden)}, mamba);
  }
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden));
}

}  // namespace

extern const Architecture kMamba{"mamba", "mamba falcon_mamba", "Mamba, Falcon-Mamba", build};

}  // namespace ingle::models
