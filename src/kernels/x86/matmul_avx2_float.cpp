// Float matmul tiles with AVX2, FMA and F16C: one ascending fma chain over k per output, lanes are rows.
#include <immintrin.h>
#include <stdint.h>

#include "kernels/isa.h"
#include "kernels/layout.h"
#include "kernels/strips.h"
#include "kernels/units.h"
#include "kernels/x86/avx2_ends.h"
#include "kernels/x86/flush.h"

namespace ingle::kernels {
namespace {

template <int kLayout>
INGLE_INLINE __m256 weights(const uint8_t* w, int64_t at) {
  if constexpr (kLayout == kLayoutF32) return _mm256_load_ps(reinterpret_cast<const float*>(w) + at);
  const __m128i bits = _mm_load_si128(reinterpret_cast<const __m128i*>(w + 2 * at));
  return _mm256_cvtph_ps(bits);
}

template <int kId>
struct FloatAvx2 {
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = 6;
  static constexpr int64_t kSlice = kId == kLayoutF32 ? 256 : 512;
  static constexpr int64_t kPanelBytes = 0;
  static int64_t strip_bytes(int64_t k) { return k * 4; }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_float_strip(x, part, reinterpret_cast<float*>(out));
  }
  template <int kTokens>
  __attribute__((noinline)) static void tile(const uint8_t* w, const uint8_t* strip, int64_t k,
                                             const TileOut& out) {
    const float* x = reinterpret_cast<const float*>(strip);
    __m256 acc[2][kTokens];
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) {
      acc[0][t] = start_half(out, t, 0);
      acc[1][t] = start_half(out, t, 8);
    }
    for (int64_t i = 0; i < k; ++i, x += kTokens) {
      if constexpr (kTokens <= 4)
        _mm_prefetch(reinterpret_cast<const char*>(w + i * (kId == kLayoutF32 ? 64 : 32) + 2048),
                     _MM_HINT_T0);
      const __m256 w0 = weights<kId>(w, i * kRows), w1 = weights<kId>(w, i * kRows + 8);
      INGLE_UNROLL for (int t = 0; t < kTokens; ++t) {
        const __m256 value = _mm256_broadcast_ss(x + t);
        acc[0][t] = _mm256_fmadd_ps(w0, value, acc[0][t]);
        acc[1][t] = _mm256_fmadd_ps(w1, value, acc[1][t]);
      }
    }
    finish_tile<kTokens>(out, acc);
  }
};

// The elements of pairs of bf16, widened.
INGLE_INLINE __m256 odd_of(__m256i pairs) {
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int32_t>(0xffff0000u))));
}
INGLE_INLINE __m256 even_of(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }

struct Bf16Avx2 {
  static constexpr int32_t kLayout = kLayoutBf16Pairs;
  static constexpr int64_t kWidest = 4;
  static constexpr int64_t kSlice = 512;
  static constexpr int64_t kPanelBytes = 0;
  static int64_t strip_bytes(int64_t k) { return bf16_strip_bytes(k); }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_bf16_strip(x, part, reinterpret_cast<uint32_t*>(out));
  }
  template <int kTokens>
  __attribute__((noinline)) static void tile(const uint8_t* w, const uint8_t* strip, int64_t k,
                                             const TileOut& out) {
    __m256 acc[2][kTokens];
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) {
      acc[0][t] = start_half(out, t, 0);
      acc[1][t] = start_half(out, t, 8);
    }
    const uint32_t csr = flush_subnormals();
    for (int64_t i = 0; i < (k + 1) / 2; ++i, w += 64, strip += 4 * kTokens) {
      if constexpr (kTokens <= 4) _mm_prefetch(reinterpret_cast<const char*>(w + 2048), _MM_HINT_T0);
      const auto* pairs = reinterpret_cast<const __m256i*>(w);
      const __m256i w0 = _mm256_load_si256(pairs), w1 = _mm256_load_si256(pairs + 1);
      const __m256 odd0 = odd_of(w0), odd1 = odd_of(w1), even0 = even_of(w0), even1 = even_of(w1);
      INGLE_UNROLL for (int t = 0; t < kTokens; ++t) {
        const __m256i x = _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(strip) + t));
        const __m256 odd = odd_of(x), even = even_of(x);
        acc[0][t] = _mm256_fmadd_ps(even0, even, _mm256_fmadd_ps(odd0, odd, acc[0][t]));
        acc[1][t] = _mm256_fmadd_ps(even1, even, _mm256_fmadd_ps(odd1, odd, acc[1][t]));
      }
    }
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t)
        INGLE_UNROLL for (int h = 0; h < 2; ++h) asm volatile("" : "+x"(acc[h][t]));
    restore_subnormals(csr);
    finish_tile<kTokens>(out, acc);
  }
};

#define INGLE_ROW(name, layout)                                                              \
  {                                                                                          \
    name "_f32_gemm_avx2_r16", "avx2", name, layout, kActF32, run_strips<FloatAvx2<layout>>, \
        strip_scratch<FloatAvx2<layout>>                                                     \
  }
constexpr MatmulRow kMatmulRows[] = {
    INGLE_ROW("f32", kLayoutF32),
    INGLE_ROW("f16", kLayoutF16),
    {"bf16_bf16_gemm_avx2_r16", "avx2", "bf16", kLayoutBf16Pairs, kActBf16, run_strips<Bf16Avx2>,
     strip_scratch<Bf16Avx2>},
};
#undef INGLE_ROW

}  // namespace

extern "C" const MatmulUnit ingle_matmul_avx2_float = {kMatmulRows, 3};

}  // namespace ingle::kernels
