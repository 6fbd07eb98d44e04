// Experts and head-wise products, slot after slot.
#include "backends/ref/step.h"
#include "backends/route.h"

namespace ingle::backends {

void RefStep::operator()(const op::Route& o) const {
  for (int64_t r = 0; r < n; ++r) {
    route(o.router, row(o.logits, r), vector(o.router.correction), row(o.routes, r));
    scale_routes(o.router, vector(o.router.expert_scale), row(o.routes, r));
  }
}

void RefStep::operator()(const op::ExpertLinear& o) const {
  const int64_t rows = weight(o.w.weight).rows, cols = weight(o.w.weight).cols;
  const float* bias = vector(o.w.bias);
  each(n * o.n_used, [&](int64_t i, int worker) {
    const int64_t r = i / o.n_used, slot = i % o.n_used;
    float* decoded = ws.decoded[static_cast<size_t>(worker)].as<float>();
    const float* routes = row(o.routes, r);
    const auto expert = static_cast<int32_t>(routes[slot]);
    const float* in = row(o.in, r) + (o.slots ? slot * cols : 0);
    float* out = row(o.out, r) + slot * rows;
    for (int64_t k = 0; k < rows; ++k) {
      decode(o.w.weight + expert, k, decoded);
      out[k] = dot(decoded, in, cols) * (o.weigh ? routes[o.n_used + slot] : 1.0f);
      if (bias) out[k] += bias[expert * rows + k];
    }
  });
}

void RefStep::operator()(const op::Combine& o) const {
  elementwise(o.out, [&](int64_t r, int64_t i) {
    double sum = 0;
    for (int64_t slot = 0; slot < o.n_used; ++slot) {
      const double w = o.weigh ? double{row(o.routes, r)[o.n_used + slot]} : 1.0;
      sum += w * double{row(o.in, r)[slot * width(o.out) + i]};
    }
    return static_cast<float>(sum);
  });
}

void RefStep::operator()(const op::HeadLinear& o) const {
  const int64_t rows = weight(o.w.weight).rows, cols = weight(o.w.weight).cols;
  const float* bias = vector(o.w.bias);
  each(rows * o.w.count, [&](int64_t i, int worker) {
    const int64_t head = i / rows, k = i % rows;
    float* decoded = ws.decoded[static_cast<size_t>(worker)].as<float>();
    decode(o.w.weight + static_cast<Id>(head), k, decoded);
    for (int64_t r = 0; r < n; ++r)
      row(o.out, r)[o.out_offset + head * o.out_stride + k] =
          dot(decoded, row(o.in, r) + head * cols, cols) + (bias ? bias[i] : 0);
  });
}

void RefStep::operator()(const op::Copy& o) const {
  for (int64_t r = 0; r < n; ++r)
    for (int64_t i = 0; i < o.count; ++i)
      for (int64_t j = 0; j < o.width; ++j)
        row(o.out, r)[o.out_offset + i * o.out_stride + j] = row(o.in, r)[o.in_offset + i * o.in_stride + j];
}

void RefStep::operator()(const op::Gate& o) const {
  elementwise(o.x, [&](int64_t r, int64_t i) {
    return row(o.x, r)[i] * activate(o.act, row(o.gate, r)[i / o.group]);
  });
}

}  // namespace ingle::backends
