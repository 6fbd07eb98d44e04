// Gemma 3n (text): four parallel streams of which one is computed and the others predicted and corrected
// (AltUp, Baykal et al., arXiv:2301.13310), a low-rank residual (LAuReL, Menghani et al., arXiv:2411.07501),
// embeddings of each layer's own, shared keys and values, and gates of which but the largest pass. Google,
// 2025.
#include <cmath>

#include "core/error.h"
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

constexpr float kLeastMagnitude = 1e-5f;  // of a stream's mean square

// How many deviations above the mean a normal value is with probability 1 - p: the inverse of its
// distribution.
float deviations(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 80; ++i) {
    const double z = (low + high) / 2;
    (std::erfc(-z / std::sqrt(2.0)) / 2 < p ? low : high) = z;
  }
  return static_cast<float>(low);
}

struct Streams {
  Flow& f;
  int64_t n, active, hidden = f.config.hidden;
  Id held = f.b.buffer(n * hidden), predicted = f.b.buffer(n * hidden), change = f.b.buffer(n * hidden),
     one = f.b.buffer(hidden), other = f.b.buffer(hidden);

  graph::TensorName numbered(std::string_view role, int64_t i) const {
    return with_suffix(f.names.of_model(role), std::to_string(i));
  }
  void put(Id from, Id to, int64_t i) const {
    f.b.emit(op::Copy{from, to, 0, 0, static_cast<int32_t>(i * hidden), 0, static_cast<int32_t>(hidden), 1});
  }

  void begin(Id x) const {
    put(x, held, 0);
    for (int64_t i = 1; i < n; ++i) {
      const Id y = f.linear(x, f.weight(numbered("altup_proj", i - 1), hidden, hidden), "altup", hidden);
      f.b.emit(op::MatchMagnitude{y, x, kLeastMagnitude});
      put(y, held, i);
    }
  }

  // tanh of the routed row, of the active stream
  Id modalities(int64_t layer, Id x) const {
    const Id in = f.normed(x, f.rms(f.name(layer, "altup_router_norm"), hidden), hidden);
    const Id m = f.linear(in, f.weight(f.name(layer, "altup_router"), n, hidden), "altup_modalities", n);
    f.b.emit(op::Scale{m, m, 1 / static_cast<float>(hidden)});
    f.b.emit(op::Softcap{m, m, 1});
    return m;
  }

  void predict(int64_t layer, Id x) const {
    f.copy(held, active * hidden, one, hidden);
    const Id coefs = f.linear(modalities(layer, one), f.weight(f.name(layer, "altup_predict_coef"), n * n, n),
                              "altup_predict", n * n);
    f.b.emit(op::Mix{held, coefs, predicted, static_cast<int32_t>(n), static_cast<int32_t>(n), true});
    f.copy(predicted, active * hidden, x, hidden);
  }

  // held = predicted + (1 + coefficients) * (x - the active one predicted)
  void correct(int64_t layer, Id x) const {
    LinearSpec w = f.weight(f.name(layer, "altup_correct_coef"), n, n);
    w.bias = f.b.made_vector(std::vector<float>(static_cast<size_t>(n), 1.0f));
    const Id coefs = f.linear(modalities(layer, x), w, "altup_correct", n);
    f.copy(predicted, active * hidden, one, hidden);
    f.b.emit(op::Scale{one, one, -1});
    f.b.emit(op::Add{x, one, one});
    f.b.emit(op::Mix{one, coefs, change, 1, static_cast<int32_t>(n), false});
    f.b.emit(op::Add{predicted, change, held});
  }

  // Adds y to all streams but the first.
  void add_to_others(Id y) const {
    const auto width = static_cast<int32_t>(hidden), others = static_cast<int32_t>(n - 1);
    f.b.emit(op::Scale{held, change, 0});
    f.b.emit(op::Copy{y, change, 0, 0, width, width, width, others});
    f.b.emit(op::Add{held, change, held});
  }

  // The mean of all, each brought to the magnitude of the first.
  void end(Id x) const {
    f.copy(held, 0, x, hidden);
    f.copy(held, 0, one, hidden);
    for (int64_t i = 1; i < n; ++i) {
      f.copy(held, i * hidden, other, hidden);
      const Id y =
          f.linear(other, f.weight(numbered("altup_unembd_proj", i - 1), hidden, hidden), "altup", hidden);
      f.b.emit(op::MatchMagnitude{y, one, kLeastMagnitude});
      f.b.emit(op::Add{x, y, x});
    }
    f.b.emit(op::Scale{x, x, 1 / static_cast<float>(n)});
  }
};

void mlp(Flow& f, int64_t i, Id x, double sparsity, const NormSpec& norm, const NormSpec& post) {
  const int64_t hidden = f.config.hidden, width = f.b.rows_of(with_suffix(f.name(i, "ffn_gate"), ".weight"));
  if (!(sparsity > 0)) return f.mlp(i, x, width, Activation::gelu_tanh, norm, post);
  const Id in = f.normed(x, norm, hidden);
  const Id g = f.linear(in, f.weight(f.name(i, "ffn_gate"), width, hidden), "ffn_gate", width);
  const Id u = f.linear(in, f.weight(f.name(i, "ffn_up"), width, hidden), "ffn_up", width);
  f.b.emit(op::Sparsify{g, deviations(sparsity)});
  f.multiply(u, g, Activation::gelu_tanh);
  f.project(u, x, f.weight(f.name(i, "ffn_down"), hidden, width), post);
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, static_cast<float>(config.need_positive({"", "rms_norm_eps"})));
  const int64_t hidden = config.hidden, rank = config.need_int({"", "laurel_rank"}, 1, 1 << 16);
  const std::vector<std::string> kinds =
      layer_kinds(config, {"", "layer_types"}, {"sliding_attention", "full_attention"});
  const std::vector<double> sparsity =
      config.find_floats({"", "activation_sparsity_pattern"}).value_or(std::vector<double>());
  const bool scaled = config.find_bool({"", "altup_correct_scale"}).value_or(true);
  const Id x = f.embed(std::sqrt(static_cast<float>(hidden)));
  LayerEmbeddings embeddings(f, x, config.need_int({"", "hidden_size_per_layer_input"}, 1, 1 << 16),
                             config.need_int({"", "vocab_size_per_layer_input"}, 1, 1 << 24));
  const int64_t n = config.need_int({"", "altup_num_inputs"}, 2, 16);
  const Streams streams{f, n, config.need_int({"", "altup_active_idx"}, 0, n - 1)};
  streams.begin(x);
  SharedAttention attention(f, config.n_layers - config.find_int({"", "num_kv_shared_layers"}).value_or(0));
  for (int64_t i = 0; i < config.n_layers; ++i) {
    const auto norm = [&](std::string_view role) { return f.rms(f.name(i, role), hidden); };
    streams.predict(i, x);
    const Id in = f.temp("block_in", hidden);
    f.norm(x, in, norm("attn_norm"), hidden);
    const Id low = f.linear(in, f.weight(f.name(i, "laurel_l"), rank, hidden), "laurel_low", rank);
    const Id laurel = f.linear(low, f.weight(f.name(i, "laurel_r"), hidden, rank), "laurel", hidden);
    f.norm(laurel, laurel, norm("laurel_post_norm"), hidden);
    b.emit(op::Add{laurel, in, laurel});
    const std::string& kind = kinds[static_cast<size_t>(i)];
    SharedAttention::Layer a;
    a.heads = usual_gated_attention(config).heads;
    a.window = kind == "sliding_attention" ? config.window.value_or(0) : 0;
    a.rotation = b.rotation(rotation_of(read_rope(config, kind)));
    attention.emit(i, a, in, x, norm("post_attention_norm"));
    b.emit(op::Add{x, laurel, x});
    b.emit(op::Scale{x, x, std::sqrt(0.5f)});
    mlp(f, i, x, static_cast<size_t>(i) < sparsity.size() ? sparsity[static_cast<size_t>(i)] : 0,
        norm("ffn_norm"), norm("post_ffw_norm"));
    streams.correct(i, x);
    f.copy(streams.held, streams.active * hidden, x, hidden);
    const Id scale = b.made_vector(b.flat_values(f.name(i, "altup_correct_scale"), hidden));
    if (scaled) b.emit(op::ScaleColumns{x, scale});
    embeddings.emit(i, x, streams.other);
    streams.add_to_others(streams.other);
  }
  streams.end(x);
  return f.finish(x, f.rms(f.names.of_model("output_norm"), hidden), 1,
                  static_cast<float>(config.positive_or({"", "final_logit_softcapping"}, 0)));
}

}  // namespace

extern const Architecture kGemma3n{"", "gemma3n_text", "Gemma 3n, text", build};

}  // namespace ingle::models
