// Where AVX-512 tiles start and end: a group's accumulators of each record. For AVX-512 units only, which
// include their intrinsics (or a test's emulation) before.
#pragma once
#include <stdint.h>

#include "kernels/layout.h"
#include "kernels/strips.h"

#define INGLE_UNROLL _Pragma("GCC unroll 16")
#define INGLE_INLINE inline __attribute__((always_inline))

namespace ingle::kernels {
namespace {

INGLE_INLINE __m512 start_tile(const TileOut& out, int64_t t) {
  return out.first ? _mm512_setzero_ps() : _mm512_load_ps(out.acc + t * kRows);
}
INGLE_INLINE void store_rows(const TileOut& out, int64_t t, __m512 acc, const __m512* rest) {
  const __mmask16 rows = static_cast<__mmask16>((1u << out.rows) - 1u);
  float* y = out.y + t * out.ldy;
  if (out.bias) acc = _mm512_add_ps(acc, _mm512_maskz_loadu_ps(rows, out.bias));
  if (out.accumulate) acc = _mm512_add_ps(acc, _mm512_maskz_loadu_ps(rows, y));
  if (rest) acc = _mm512_add_ps(acc, *rest);
  _mm512_mask_storeu_ps(y, rows, acc);
}
template <int kTokens>
INGLE_INLINE void finish_tile(const TileOut& out, const __m512 (&acc)[kTokens]) {
  if (!out.last) {
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) _mm512_store_ps(out.acc + t * kRows, acc[t]);
    return;
  }
  if constexpr (kTokens % 2 == 0) {
    if (out.paired) {
      INGLE_UNROLL for (int t = 0; t < kTokens / 2; ++t) store_rows(out, t, acc[t], &acc[t + kTokens / 2]);
      return;
    }
  }
  INGLE_UNROLL for (int t = 0; t < kTokens; ++t) store_rows(out, t, acc[t], nullptr);
}

}  // namespace
}  // namespace ingle::kernels
