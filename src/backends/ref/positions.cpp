// Ops that a few families have, and those that look at a token's position.
#include <algorithm>
#include <cmath>

#include "backends/ref/step.h"

namespace ingle::backends {

void RefStep::operator()(const op::AddPositions& o) const {
  for (int64_t r = 0; r < n; ++r) {
    const int64_t at = ws.rows.rows[static_cast<size_t>(r)].position + o.offset;
    const float* position = vector(o.table) + at * width(o.x);
    float* x = row(o.x, r);
    for (int64_t i = 0; i < width(o.x); ++i) x[i] += position[i];
  }
}

void RefStep::operator()(const op::Xielu& o) const {
  elementwise(o.out, [&](int64_t r, int64_t i) {
    const double x = row(o.in, r)[i];
    const double y = x > 0 ? o.alpha_p * x * x + o.beta * x
                           : (std::expm1(std::min(x, double{o.eps})) - x) * o.alpha_n + o.beta * x;
    return static_cast<float>(y);
  });
}

void RefStep::operator()(const op::Clamp& o) const {
  elementwise(o.x, [&](int64_t r, int64_t i) { return std::clamp(row(o.x, r)[i], -o.limit, o.limit); });
}

void RefStep::operator()(const op::ScaleByPosition& o) const {
  for (int64_t r = 0; r < n; ++r) {
    const int64_t spans = (ws.rows.rows[static_cast<size_t>(r)].position + o.offset) / o.span;
    const auto factor = static_cast<float>(1 + o.beta * std::log1p(static_cast<double>(spans)));
    for (int64_t i = 0; i < width(o.x); ++i) row(o.x, r)[i] *= factor;
  }
}

}  // namespace ingle::backends
