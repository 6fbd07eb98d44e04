// Mamba 2: nothing but selective state spaces. Dao & Gu, arXiv:2405.21060.
#include "core/error.h"
#include "models/architecture.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames("backbone.layers.", {{"token_embd", "backbone.embeddings"},
                                        {"output_norm", "backbone.norm_f"},
                                        {"attn_norm", "norm"},
                                        {"ssm_in", "mixer.in_proj"},
                                        {"ssm_conv1d", "mixer.conv1d"},
                                        {"ssm_dt", "mixer.dt_bias"},
                                        {"ssm_a", "mixer.A_log"},
                                        {"ssm_d", "mixer.D"},
                                        {"ssm_norm", "mixer.norm"},
                                        {"ssm_out", "mixer.out_proj"}});

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  const Mamba2 mamba = read_mamba2(config, f.eps(),
                                   {.heads = {"", "num_heads"},
                                    .head_width = {"", "head_dim"},
                                    .groups = {"", "n_groups"},
                                    .states = {"", "state_size"},
                                    .taps = {"", "conv_kernel"},
                                    .conv_bias = {"", "use_conv_bias"},
                                    .bias = {"", "use_bias"}});
  const Id x = f.embed();
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    emit_mamba2({f, i, x, f.rms(f.name(i, "attn_norm"), config.hidden)}, mamba);
  }
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden));
}

}  // namespace

extern const Architecture kMamba2{"mamba2", "mamba2", "Mamba 2", build};

}  // namespace ingle::models
