// Bamba: Mamba 2 with a few layers of attention between. IBM, Princeton, CMU and UIUC, 2024.
#include <algorithm>

#include "models/architecture.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames("model.layers.", {{"output_norm", "model.final_layernorm"},
                                     {"ffn_norm", "pre_ff_layernorm"},
                                     {"ffn_gate", "feed_forward.gate_proj"},
                                     {"ffn_up", "feed_forward.up_proj"},
                                     {"ffn_down", "feed_forward.down_proj"},
                                     {"ssm_in", "mamba.in_proj"},
                                     {"ssm_conv1d", "mamba.conv1d"},
                                     {"ssm_dt", "mamba.dt_bias"},
                                     {"ssm_a", "mamba.A_log"},
                                     {"ssm_d", "mamba.D"},
                                     {"ssm_norm", "mamba.norm"},
                                     {"ssm_out", "mamba.out_proj"}});

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  const std::vector<int64_t> attention =
      config.find_ints({"", "attn_layer_indices"}).value_or(std::vector<int64_t>());
  const Mamba2 mamba = read_mamba2(config, f.eps());
  const Id rotation = b.rotation(rotation_of(read_rope(config)));
  const Id x = f.embed();
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    const Place at{f, i, x, f.rms(f.name(i, "attn_norm"), config.hidden)};
    if (std::find(attention.begin(), attention.end(), i) == attention.end()) {
      emit_mamba2(at, mamba);
    } else {
      GatedAttention a = usual_gated_attention(config);
      a.rotation = rotation;
      emit_attention(at, a);
    }
    f.mlp(i, x, config.n_ffn, Activation::silu, f.rms(f.name(i, "ffn_norm"), config.hidden));
  }
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden));
}

}  // namespace

extern const Architecture kBamba{"", "bamba", "Bamba", build};

}  // namespace ingle::models
