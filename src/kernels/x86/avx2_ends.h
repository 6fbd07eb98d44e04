// Where AVX2 tiles start and end: half a group's accumulators of one token. For AVX2 units only.
#pragma once
#include <immintrin.h>
#include <stdint.h>

#include "kernels/layout.h"
#include "kernels/strips.h"

#define INGLE_UNROLL _Pragma("GCC unroll 16")
#define INGLE_INLINE inline __attribute__((always_inline))

namespace ingle::kernels {
namespace {

INGLE_INLINE __m256 start_half(const TileOut& out, int64_t t, int64_t row) {
  return out.first ? _mm256_setzero_ps() : _mm256_load_ps(out.acc + t * kRows + row);
}
INGLE_INLINE void store_half(const TileOut& out, int64_t t, int64_t row, __m256 acc, const __m256* rest) {
  float* y = out.y + t * out.ldy + row;
  const int64_t rows = out.rows - row;
  if (rows <= 0) return;
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(rows)), lanes);
  if (out.bias) acc = _mm256_add_ps(acc, _mm256_maskload_ps(out.bias + row, mask));
  if (out.accumulate) acc = _mm256_add_ps(acc, _mm256_maskload_ps(y, mask));
  if (rest) acc = _mm256_add_ps(acc, *rest);
  _mm256_maskstore_ps(y, mask, acc);
}
template <int kTokens>
INGLE_INLINE void finish_tile(const TileOut& out, const __m256 (&acc)[2][kTokens]) {
  if (!out.last) {
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) INGLE_UNROLL for (int h = 0; h < 2; ++h)
        _mm256_store_ps(out.acc + t * kRows + 8 * h, acc[h][t]);
    return;
  }
  if constexpr (kTokens % 2 == 0) {
    if (out.paired) {
      constexpr int kHalf = kTokens / 2;
      INGLE_UNROLL for (int t = 0; t < kHalf; ++t) INGLE_UNROLL for (int h = 0; h < 2; ++h)
          store_half(out, t, 8 * h, acc[h][t], &acc[h][t + kHalf]);
      return;
    }
  }
  INGLE_UNROLL for (int t = 0; t < kTokens; ++t) INGLE_UNROLL for (int h = 0; h < 2; ++h)
      store_half(out, t, 8 * h, acc[h][t], nullptr);
}

}  // namespace
}  // namespace ingle::kernels
