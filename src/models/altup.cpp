#include "models/altup.h"

namespace ingle::models {
namespace {

constexpr float kLeastMagnitude = 1e-5f;  // of a stream's mean square

}  // namespace

LinearSpec AltUp::numbered(std::string_view role, int64_t i) const {
  const graph::TensorName name = f.names.of_model(role);
  if (!f.config.is_gguf()) return f.weight(with_suffix(name, std::to_string(i)), hidden, hidden);
  return {f.b.part(with_suffix(name, ".weight"), {n - 1, hidden, hidden}, hidden, hidden,
                   {.first_row = i * hidden, .slice_rows = hidden}),
          kNone};
}
void AltUp::put(Id from, Id to, int64_t i) const {
  f.b.emit(op::Copy{from, to, 0, 0, static_cast<int32_t>(i * hidden), 0, static_cast<int32_t>(hidden), 1});
}

void AltUp::begin(Id x) const {
  put(x, held, 0);
  for (int64_t i = 1; i < n; ++i) {
    const Id y = f.linear(x, numbered("altup_proj", i - 1), "altup", hidden);
    f.b.emit(op::MatchMagnitude{y, x, kLeastMagnitude});
    put(y, held, i);
  }
}

// tanh of the routed row, of the active stream
Id AltUp::modalities(int64_t layer, Id x) const {
  const Id in = f.normed(x, f.rms(f.name(layer, "altup_router_norm"), hidden), hidden);
  const Id m = f.linear(in, f.weight(f.name(layer, "altup_router"), n, hidden), "altup_modalities", n);
  f.b.emit(op::Scale{m, m, 1 / static_cast<float>(hidden)});
  f.b.emit(op::Softcap{m, m, 1});
  return m;
}

void AltUp::predict(int64_t layer, Id x) const {
  f.copy(held, active * hidden, one, hidden);
  const Id coefs = f.linear(modalities(layer, one), f.weight(f.name(layer, "altup_predict_coef"), n * n, n),
                            "altup_predict", n * n);
  f.b.emit(op::Mix{held, coefs, predicted, static_cast<int32_t>(n), static_cast<int32_t>(n), true});
  f.copy(predicted, active * hidden, x, hidden);
}

void AltUp::correct(int64_t layer, Id x) const {
  LinearSpec w = f.weight(f.name(layer, "altup_correct_coef"), n, n);
  w.bias = f.b.made_vector(std::vector<float>(static_cast<size_t>(n), 1.0f));
  const Id coefs = f.linear(modalities(layer, x), w, "altup_correct", n);
  f.copy(predicted, active * hidden, one, hidden);
  f.b.emit(op::Scale{one, one, -1});
  f.b.emit(op::Add{x, one, one});
  f.b.emit(op::Mix{one, coefs, change, 1, static_cast<int32_t>(n), false});
  f.b.emit(op::Add{predicted, change, held});
}

void AltUp::add_to_others(Id y) const {
  const auto width = static_cast<int32_t>(hidden), others = static_cast<int32_t>(n - 1);
  f.b.emit(op::Scale{held, change, 0});
  f.b.emit(op::Copy{y, change, 0, 0, width, width, width, others});
  f.b.emit(op::Add{held, change, held});
}

void AltUp::end(Id x) const {
  f.copy(held, 0, x, hidden);
  f.copy(held, 0, one, hidden);
  for (int64_t i = 1; i < n; ++i) {
    f.copy(held, i * hidden, other, hidden);
    const Id y = f.linear(other, numbered("altup_unembd_proj", i - 1), "altup", hidden);
    f.b.emit(op::MatchMagnitude{y, one, kLeastMagnitude});
    f.b.emit(op::Add{x, y, x});
  }
  f.b.emit(op::Scale{x, x, 1 / static_cast<float>(n)});
}

}  // namespace ingle::models
