// The recurrent ops of the reference: one loop over tokens, sums in double.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/ref/step.h"

namespace ingle::backends {
namespace {

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Makes the state of one layer and head fresh in the first snapshot that is due, and calls f(row, state) for
// each row of the slice; where a snapshot ends, the next goes on from a copy of it.
template <class F>
void each_token(const kv::RecurrentStep& step, int64_t offset, int64_t bytes, int64_t start, int64_t n, F f) {
  const std::byte* from = step.from ? step.from + offset : nullptr;
  int64_t t = 0;
  for (const kv::Snapshot& to : step.to) {
    std::byte* state = to.data + offset;
    if (from)
      std::memcpy(state, from, static_cast<size_t>(bytes));
    else
      std::memset(state, 0, static_cast<size_t>(bytes));
    for (; t < n && start + t < to.position; ++t) f(t, reinterpret_cast<float*>(state));
    from = state;
  }
}

// x becomes x / |x|, times `scale`.
void to_unit(float* x, int64_t n, double scale) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{x[i]} * x[i];
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(x[i] * (scale / std::sqrt(sum + 1e-6)));
}

}  // namespace

void RefStep::operator()(const op::Conv& o) const {
  const kv::PartSpec& part = p.plan_->parts[static_cast<size_t>(o.part)];
  const int64_t channels = width(o.in), before = o.taps - 1;
  const float *w = vector(o.weight), *bias = vector(o.bias);
  int64_t row0 = 0;
  for (const Slice& s : batch.slices) {
    const auto tokens = static_cast<int64_t>(s.tokens.size());
    each_token(
        s.state->recurrent(static_cast<size_t>(o.part)), part.tile_offset(o.layer, 0), part.tile_bytes(),
        s.start, tokens, [&](int64_t t, float* state) {
          const float* in = row(o.in, row0 + t);
          float* out = row(o.out, row0 + t);
          for (int64_t c = 0; c < channels; ++c) {
            double y = bias ? bias[c] : 0;
            for (int64_t j = 0; j < before; ++j) y += double{w[j * channels + c]} * state[j * channels + c];
            y += double{w[before * channels + c]} * in[c];
            out[c] = static_cast<float>(o.silu ? y * sigmoid(y) : y);
          }
          std::memmove(state, state + channels, static_cast<size_t>((before - 1) * channels) * sizeof(float));
          std::memcpy(state + (before - 1) * channels, in, static_cast<size_t>(channels) * sizeof(float));
        });
    row0 += tokens;
  }
}

void RefStep::operator()(const op::Scan& o) const {
  const kv::PartSpec& part = p.plan_->parts[static_cast<size_t>(o.part)];
  if (o.delta)
    for (int64_t r = 0; r < n; ++r)
      for (int64_t g = 0; g < o.n_groups; ++g) {
        to_unit(row(o.in, r) + o.q_at + g * o.dk, o.dk, 1 / std::sqrt(double(o.dk)));
        to_unit(row(o.in, r) + o.k_at + g * o.dk, o.dk, 1);
      }
  each(static_cast<int64_t>(batch.slices.size()) * o.n_heads, [&](int64_t i, int) {
    const auto slice = static_cast<size_t>(i / o.n_heads);
    const int64_t h = i % o.n_heads, group = o.tiled ? h % o.n_groups : h / (o.n_heads / o.n_groups);
    int64_t row0 = 0;
    for (size_t s = 0; s < slice; ++s) row0 += static_cast<int64_t>(batch.slices[s].tokens.size());
    const Slice& s = batch.slices[slice];
    const double rate = vector(o.rate)[h], bias = vector(o.dt_bias)[h],
                 skip = o.skip == kNone ? 0 : vector(o.skip)[h];
    each_token(
        s.state->recurrent(static_cast<size_t>(o.part)), part.tile_offset(o.layer, h), part.tile_bytes(),
        s.start, static_cast<int64_t>(s.tokens.size()), [&](int64_t t, float* state) {
          const float* x = row(o.in, row0 + t);
          const float *q = x + o.q_at + group * o.dk, *k = x + o.k_at + group * o.dk,
                      *v = x + o.v_at + h * o.dv;
          const double dt =
              std::clamp(softplus(row(o.decay, row0 + t)[h] + bias), double(o.dt_low), double(o.dt_high));
          const double g = std::exp(dt * rate);
          const double beta = o.delta ? o.beta_scale * sigmoid(row(o.beta, row0 + t)[h]) : dt;
          float* out = row(o.out, row0 + t) + h * o.dv;
          for (int64_t j = 0; j < o.dv; ++j) {
            double held = 0, y = skip * v[j];
            for (int64_t d = 0; d < o.dk && o.delta; ++d) held += double{state[d * o.dv + j]} * k[d];
            const double fresh = beta * (v[j] - g * held);
            for (int64_t d = 0; d < o.dk; ++d) {
              float& cell = state[d * o.dv + j];
              cell = static_cast<float>(g * cell + k[d] * fresh);
              y += double{cell} * q[d];
            }
            out[j] = static_cast<float>(y);
          }
        });
  });
}

void RefStep::operator()(const op::Selective& o) const {
  const kv::PartSpec& part = p.plan_->parts[static_cast<size_t>(o.part)];
  const int64_t channels = width(o.x);
  const float *rate = vector(o.rate), *skip = vector(o.skip);
  int64_t row0 = 0;
  for (const Slice& s : batch.slices) {
    const auto tokens = static_cast<int64_t>(s.tokens.size());
    each_token(s.state->recurrent(static_cast<size_t>(o.part)), part.tile_offset(o.layer, 0),
               part.tile_bytes(), s.start, tokens, [&](int64_t t, float* state) {
                 const float *x = row(o.x, row0 + t), *b = row(o.b, row0 + t), *c = row(o.c, row0 + t);
                 for (int64_t ch = 0; ch < channels; ++ch) {
                   const double d = softplus(row(o.dt, row0 + t)[ch]);
                   double y = double{skip[ch]} * x[ch];
                   for (int64_t i = 0; i < o.n_states; ++i) {
                     float& cell = state[i * channels + ch];
                     cell =
                         static_cast<float>(std::exp(d * rate[i * channels + ch]) * cell + d * x[ch] * b[i]);
                     y += double{cell} * c[i];
                   }
                   row(o.out, row0 + t)[ch] = static_cast<float>(y);
                 }
               });
    row0 += tokens;
  }
}

}  // namespace ingle::backends
