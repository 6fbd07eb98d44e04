// Falcon-H1: attention and Mamba 2 side by side in every layer, and a multiplier for each product. TII,
// "Falcon-H1", arXiv:2507.22448. What multiplies a row's input goes into its norm's weights, what multiplies
// keys into their scale.
#include <utility>

#include "core/error.h"
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

std::vector<float> multipliers(const Config& config, const char* key, size_t n) {
  const auto found = config.find_floats({"", key});
  if (!found) return std::vector<float>(n, 1);
  if (found->size() != n)
    fail(Code::corrupt, config.file().name() + ", key " + key,
         format("has {} values, expected {}", found->size(), n));
  return {found->begin(), found->end()};
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  const auto multiplier = [&](const char* key) {
    return static_cast<float>(config.positive_or({"", key}, 1));
  };
  Mamba2 mamba = read_mamba2(config, f.eps());
  if (!config.is_gguf())  // whose converter has the multipliers in the weights
    mamba.out_bias = config.find_bool({"", "projectors_bias"}).value_or(false) ? Presence::yes : Presence::no;
  if (!config.find_bool({"", "mamba_rms_norm"}).value_or(!config.is_gguf() || f.holds(0, "ssm_norm")))
    mamba.norm = Mamba2::none;
  else if (!config.is_gguf() && config.find_bool({"", "mamba_norm_before_gate"}).value_or(true))
    mamba.norm = Mamba2::before_gate;
  const std::vector<float> ssm = multipliers(config, "ssm_multipliers", 5),
                           mlp = multipliers(config, "mlp_multipliers", 2);
  mamba.z_scale = ssm[0], mamba.x_scale = ssm[1], mamba.b_scale = ssm[2], mamba.c_scale = ssm[3],
  mamba.dt_scale = ssm[4];
  mamba.in_scale = multiplier("ssm_in_multiplier");
  GatedAttention a = usual_gated_attention(config);
  a.rotation = b.rotation(rotation_of(read_rope(config)));
  a.scale *= multiplier("key_multiplier");
  a.in_scale = multiplier("attention_in_multiplier");
  Id x = f.embed(multiplier("embedding_multiplier")), y = b.buffer(config.hidden);
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    const auto at = [&](const char* out) {
      return Place{f, i, x, f.rms(f.name(i, "attn_norm"), config.hidden), {}, multiplier(out), y};
    };
    f.copy(x, y, config.hidden);  // both blocks read x, and are added in y
    emit_mamba2(at("ssm_out_multiplier"), mamba);
    emit_attention(at("attention_out_multiplier"), a);
    std::swap(x, y);
    const Id in = f.normed(x, f.rms(f.name(i, "ffn_norm"), config.hidden), config.hidden);
    const Id gate =
        f.linear(in, f.weight(f.name(i, "ffn_gate"), config.n_ffn, config.hidden), "ffn_gate", config.n_ffn);
    const Id up =
        f.linear(in, f.weight(f.name(i, "ffn_up"), config.n_ffn, config.hidden), "ffn_up", config.n_ffn);
    b.emit(op::Scale{gate, gate, mlp[0]});
    f.multiply(up, gate, Activation::silu);
    f.project(up, x, f.weight(f.name(i, "ffn_down"), config.hidden, config.n_ffn), {}, mlp[1]);
  }
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden), multiplier("lm_head_multiplier"));
}

}  // namespace

extern const Architecture kFalconH1{"falcon-h1", "falcon_h1", "Falcon-H1", build};

}  // namespace ingle::models
