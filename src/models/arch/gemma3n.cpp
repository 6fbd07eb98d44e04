// Gemma 3n (text): four parallel streams of which one is computed and the others predicted and corrected
// (AltUp, Baykal et al., arXiv:2301.13310), a low-rank residual (LAuReL, Menghani et al., arXiv:2411.07501),
// embeddings of each layer's own, shared keys and values, and gates of which but the largest pass. Google,
// 2025.
#include <cmath>
#include <limits>

#include "models/altup.h"
#include "models/architecture.h"
#include "models/gemma_parts.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames = gemma_names({{"altup_proj", "model.altup_projections."},
                                  {"altup_unembd_proj", "model.altup_unembed_projections."},
                                  {"altup_correct_scale", "altup.correct_output_scale"},
                                  {"altup_correct_coef", "altup.correction_coefs"},
                                  {"altup_predict_coef", "altup.prediction_coefs"},
                                  {"altup_router", "altup.modality_router"},
                                  {"altup_router_norm", "altup.router_norm"},
                                  {"laurel_l", "laurel.linear_left"},
                                  {"laurel_r", "laurel.linear_right"},
                                  {"laurel_post_norm", "laurel.post_laurel_norm"}});

constexpr double kAllPass = -std::numeric_limits<double>::infinity();
constexpr double kLocalTheta = 10000;  // of sliding layers, where a GGUF file does not say

// How many deviations above the mean a normal value is with probability 1 - p: the inverse of its
// distribution.
double deviations(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 80; ++i) {
    const double z = (low + high) / 2;
    (std::erfc(-z / std::sqrt(2.0)) / 2 < p ? low : high) = z;
  }
  return low;
}

// For each layer, how many deviations above the mean a gate has to be to pass; GGUF has them computed.
std::vector<double> sparsity_of(const Config& config) {
  std::vector<double> all = config.find_floats({"activation_sparsity_scale", "activation_sparsity_pattern"})
                                .value_or(std::vector<double>());
  if (!config.is_gguf())
    for (double& p : all) p = p > 0 ? deviations(p) : kAllPass;
  all.resize(static_cast<size_t>(config.n_layers), kAllPass);
  return all;
}

void mlp(Flow& f, int64_t i, Id x, double sparsity, const NormSpec& norm, const NormSpec& post) {
  const int64_t hidden = f.config.hidden, width = f.b.rows_of(with_suffix(f.name(i, "ffn_gate"), ".weight"));
  if (!std::isfinite(sparsity)) return f.mlp(i, x, width, Activation::gelu_tanh, norm, post);
  const Id in = f.normed(x, norm, hidden);
  const Id g = f.linear(in, f.weight(f.name(i, "ffn_gate"), width, hidden), "ffn_gate", width);
  const Id u = f.linear(in, f.weight(f.name(i, "ffn_up"), width, hidden), "ffn_up", width);
  f.b.emit(op::Sparsify{g, static_cast<float>(sparsity)});
  f.multiply(u, g, Activation::gelu_tanh);
  f.project(u, x, f.weight(f.name(i, "ffn_down"), hidden, width), post);
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  const int64_t hidden = config.hidden;
  const std::vector<bool> sliding = sliding_layers(config);
  const std::vector<double> sparsity = sparsity_of(config);
  const bool scaled = config.find_bool({"", "altup_correct_scale"}).value_or(true);
  const Id x = f.embed(std::sqrt(static_cast<float>(hidden)));
  LayerEmbeddings embeddings(f, x);
  const int64_t n = config.need_int({"altup.num_inputs", "altup_num_inputs"}, 2, 16);
  const AltUp streams{f, n, config.need_int({"altup.active_idx", "altup_active_idx"}, 0, n - 1)};
  streams.begin(x);
  SharedAttention attention(f, config.n_layers - config.find_int(kSharedLayers).value_or(0));
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(streams.held);
    const auto norm = [&](std::string_view role) { return f.rms(f.name(i, role), hidden); };
    streams.predict(i, x);
    const Id in = f.temp("block_in", hidden);
    f.norm(x, in, norm("attn_norm"), hidden);
    const int64_t rank = b.rows_of(with_suffix(f.name(i, "laurel_l"), ".weight"));
    const Id low = f.linear(in, f.weight(f.name(i, "laurel_l"), rank, hidden), "laurel_low", rank);
    const Id laurel = f.linear(low, f.weight(f.name(i, "laurel_r"), hidden, rank), "laurel", hidden);
    f.norm(laurel, laurel, norm("laurel_post_norm"), hidden);
    b.emit(op::Add{laurel, in, laurel});
    const bool slides = sliding[static_cast<size_t>(i)];
    SharedAttention::Layer a;
    a.heads = usual_gated_attention(config).heads;
    a.window = slides ? config.window.value_or(0) : 0;
    Rope rope = read_rope(config, slides ? "sliding_attention" : "full_attention");
    if (slides && config.is_gguf()) rope.theta = config.positive_or("rope.freq_base_swa", kLocalTheta);
    a.rotation = b.rotation(rotation_of(rope));
    attention.emit(i, a, in, x, norm("post_attention_norm"));
    b.emit(op::Add{x, laurel, x});
    b.emit(op::Scale{x, x, std::sqrt(0.5f)});
    mlp(f, i, x, sparsity[static_cast<size_t>(i)], norm("ffn_norm"), norm("post_ffw_norm"));
    streams.correct(i, x);
    f.copy(streams.held, streams.active * hidden, x, hidden);
    const Id scale = b.made_vector(flat_values(f, f.name(i, "altup_correct_scale"), hidden));
    if (scaled) b.emit(op::ScaleColumns{x, scale});
    embeddings.emit(i, x, streams.other);
    streams.add_to_others(streams.other);
  }
  streams.end(x);
  return f.finish(
      x, f.rms(f.names.of_model("output_norm"), hidden), 1,
      static_cast<float>(config.positive_or({"final_logit_softcapping", "final_logit_softcapping"}, 0)));
}

}  // namespace

extern const Architecture kGemma3n{"gemma3n", "gemma3n_text", "Gemma 3n, text", build};

}  // namespace ingle::models
