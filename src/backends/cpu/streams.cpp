// Ops over parallel streams of a residual, and what else works on single rows. Sums are taken in the written
// order, in double, so that bits depend on nothing else.
#include <cmath>

#include "backends/cpu/step.h"

namespace ingle::backends {
namespace {

double mean_square(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{x[i]} * x[i];
  return sum / static_cast<double>(n);
}

}  // namespace

void CpuStep::operator()(const op::Mix& o) {
  const int64_t w = width(o.in) / o.n_in;
  each_row(n, [&](int64_t r) {
    const float *in = row(o.in, r), *c = row(o.coefs, r);
    for (int64_t i = 0; i < o.n_out; ++i) {
      float* y = row(o.out, r) + i * w;
      if (o.residual)
        std::memcpy(y, in + i * w, static_cast<size_t>(w) * sizeof(float));
      else
        std::memset(y, 0, static_cast<size_t>(w) * sizeof(float));
      for (int64_t k = 0; k < o.n_in; ++k) p.scan().add_scaled(in + k * w, c[i * o.n_in + k], y, w);
    }
  });
}

void CpuStep::operator()(const op::MatchMagnitude& o) {
  each_row(n, [&](int64_t r) {
    const double scale = std::sqrt(mean_square(row(o.like, r), width(o.like)) /
                                   std::max<double>(mean_square(row(o.x, r), width(o.x)), o.least));
    p.vec().scale(row(o.x, r), static_cast<float>(scale), row(o.x, r), width(o.x));
  });
}

void CpuStep::operator()(const op::Sparsify& o) {
  const int64_t w = width(o.x);
  each_row(n, [&](int64_t r) {
    float* x = row(o.x, r);
    double mean = 0, square = 0;
    for (int64_t i = 0; i < w; ++i) mean += x[i];
    mean /= static_cast<double>(w);
    for (int64_t i = 0; i < w; ++i) square += (x[i] - mean) * (x[i] - mean);
    const auto cut = static_cast<float>(mean + o.deviations * std::sqrt(square / static_cast<double>(w)));
    for (int64_t i = 0; i < w; ++i) x[i] = std::max(x[i] - cut, 0.0f);
  });
}

void CpuStep::operator()(const op::ScaleColumns& o) {
  each_row(n, [&](int64_t r) { p.scan().mul(row(o.x, r), p.vector(o.by), row(o.x, r), width(o.x)); });
}

}  // namespace ingle::backends
