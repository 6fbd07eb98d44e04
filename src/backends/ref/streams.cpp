// Ops over parallel streams of a residual, and what else works on single rows, in double.
#include <algorithm>
#include <cmath>

#include "backends/ref/step.h"

namespace ingle::backends {
namespace {

double mean_square(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{x[i]} * x[i];
  return sum / static_cast<double>(n);
}

}  // namespace

void RefStep::operator()(const op::Mix& o) const {
  const int64_t w = width(o.in) / o.n_in;
  for (int64_t r = 0; r < n; ++r) {
    const float *in = row(o.in, r), *c = row(o.coefs, r);
    for (int64_t i = 0; i < o.n_out; ++i)
      for (int64_t j = 0; j < w; ++j) {
        double y = o.residual ? in[i * w + j] : 0;
        for (int64_t k = 0; k < o.n_in; ++k) y += double{c[i * o.n_in + k]} * in[k * w + j];
        row(o.out, r)[i * w + j] = static_cast<float>(y);
      }
  }
}

void RefStep::operator()(const op::MatchMagnitude& o) const {
  for (int64_t r = 0; r < n; ++r) {
    const double scale = std::sqrt(mean_square(row(o.like, r), width(o.like)) /
                                   std::max<double>(mean_square(row(o.x, r), width(o.x)), o.least));
    for (int64_t i = 0; i < width(o.x); ++i) row(o.x, r)[i] = static_cast<float>(row(o.x, r)[i] * scale);
  }
}

void RefStep::operator()(const op::Sparsify& o) const {
  const int64_t w = width(o.x);
  for (int64_t r = 0; r < n; ++r) {
    float* x = row(o.x, r);
    double mean = 0, square = 0;
    for (int64_t i = 0; i < w; ++i) mean += x[i];
    mean /= static_cast<double>(w);
    for (int64_t i = 0; i < w; ++i) square += (x[i] - mean) * (x[i] - mean);
    const double cut = mean + o.deviations * std::sqrt(square / static_cast<double>(w));
    for (int64_t i = 0; i < w; ++i) x[i] = static_cast<float>(std::max(x[i] - cut, 0.0));
  }
}

void RefStep::operator()(const op::ScaleColumns& o) const {
  const float* by = vector(o.by);
  for (int64_t r = 0; r < n; ++r)
    for (int64_t i = 0; i < width(o.x); ++i) row(o.x, r)[i] *= by[i];
}

}  // namespace ingle::backends
