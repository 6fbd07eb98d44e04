// Ops that a few families have, and those that look at a token's position. Plain loops and our own exp and
// log: the same bits on every machine.
#include <cmath>

#include "backends/cpu/step.h"

namespace ingle::backends {

void CpuStep::operator()(const op::AddPositions& o) {
  each_row(n, [&](int64_t r) {
    const int64_t position = ws.rows.rows[static_cast<size_t>(r)].position + o.offset;
    p.vec().add(row(o.x, r), p.vector(o.table) + position * width(o.x), row(o.x, r), width(o.x));
  });
}

void CpuStep::operator()(const op::Xielu& o) {
  each_row(n, [&](int64_t r) {
    const float* in = row(o.in, r);
    float* out = row(o.out, r);
    for (int64_t i = 0; i < width(o.out); ++i) {
      const double x = in[i];
      const double y =
          x > 0 ? o.alpha_p * x * x : (kernels::exp_double(std::min(x, double{o.eps})) - 1 - x) * o.alpha_n;
      out[i] = static_cast<float>(y + o.beta * x);
    }
  });
}

void CpuStep::operator()(const op::Clamp& o) {
  each_row(n, [&](int64_t r) {
    float* x = row(o.x, r);
    for (int64_t i = 0; i < width(o.x); ++i) x[i] = std::clamp(x[i], -o.limit, o.limit);
  });
}

void CpuStep::operator()(const op::ScaleByPosition& o) {
  each_row(n, [&](int64_t r) {
    const int64_t spans = (ws.rows.rows[static_cast<size_t>(r)].position + o.offset) / o.span;
    const double factor = 1 + o.beta * kernels::log_double(1 + static_cast<double>(spans));
    p.vec().scale(row(o.x, r), static_cast<float>(factor), row(o.x, r), width(o.x));
  });
}

}  // namespace ingle::backends
