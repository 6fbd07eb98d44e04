// Where NEON tiles start and end: a quarter of a group's accumulators (four rows) of each record. For NEON
// units only, which include their intrinsics before.
#pragma once
#include <stdint.h>

#include "kernels/layout.h"
#include "kernels/strips.h"

#define INGLE_UNROLL _Pragma("GCC unroll 16")
#define INGLE_INLINE inline __attribute__((always_inline))

namespace ingle::kernels {
namespace {

INGLE_INLINE float32x4_t start_quarter(const TileOut& out, int64_t t, int quarter) {
  return out.first ? vdupq_n_f32(0) : vld1q_f32(out.acc + t * kRows + 4 * quarter);
}

INGLE_INLINE void store_quarter(const TileOut& out, int64_t t, int quarter, float32x4_t acc,
                                const float32x4_t* rest) {
  const int rows = out.rows - 4 * quarter < 4 ? out.rows - 4 * quarter : 4;
  float* y = out.y + t * out.ldy + 4 * quarter;
  if (rows == 4) {
    if (out.bias) acc = vaddq_f32(acc, vld1q_f32(out.bias + 4 * quarter));
    if (out.accumulate) acc = vaddq_f32(acc, vld1q_f32(y));
    if (rest) acc = vaddq_f32(acc, *rest);
    vst1q_f32(y, acc);
    return;
  }
  float values[4], rests[4] = {};
  vst1q_f32(values, acc);
  if (rest) vst1q_f32(rests, *rest);
  for (int r = 0; r < rows; ++r) {
    float value = values[r];
    if (out.bias) value += out.bias[4 * quarter + r];
    if (out.accumulate) value += y[r];
    if (rest) value += rests[r];
    y[r] = value;
  }
}

template <int kTokens>
INGLE_INLINE void finish_quarter(const TileOut& out, int quarter, const float32x4_t (&acc)[kTokens]) {
  if (!out.last) {
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) vst1q_f32(out.acc + t * kRows + 4 * quarter, acc[t]);
    return;
  }
  if constexpr (kTokens % 2 == 0) {
    if (out.paired) {
      INGLE_UNROLL for (int t = 0; t < kTokens / 2; ++t)
          store_quarter(out, t, quarter, acc[t], &acc[t + kTokens / 2]);
      return;
    }
  }
  INGLE_UNROLL for (int t = 0; t < kTokens; ++t) store_quarter(out, t, quarter, acc[t], nullptr);
}

}  // namespace
}  // namespace ingle::kernels
