// Float matmul tiles with AVX-512F: one ascending fma chain over k per output, lanes are rows.
#ifdef INGLE_SIMDE  // a test's emulation of the intrinsics (tests/kernels/simde_shim.h)
#include INGLE_SIMDE
#else
#include <immintrin.h>
#endif
#include <stdint.h>

#include "kernels/isa.h"
#include "kernels/layout.h"
#include "kernels/strips.h"
#include "kernels/units.h"
#include "kernels/x86/avx512_ends.h"
#include "kernels/x86/flush.h"

#ifdef INGLE_SIMDE
#define INGLE_KEEP(x) asm volatile("" : "+m"(x))
#else
#define INGLE_KEEP(x) asm volatile("" : "+v"(x))
#endif

namespace ingle::kernels {
namespace {

inline __m256i load32(const uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(p)); }

// Sixteen weights of one k, widened.
template <int kLayout>
inline __m512 weights(const uint8_t* w, int64_t i) {
  if constexpr (kLayout == kLayoutF32) return _mm512_load_ps(reinterpret_cast<const float*>(w) + i * kRows);
  return _mm512_cvtph_ps(load32(w + 2 * i * kRows));
}

template <int kId>
struct Float512 {
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = 12;
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
    __m512 acc[kTokens];
    for (int t = 0; t < kTokens; ++t) acc[t] = start_tile(out, t);
    for (int64_t i = 0; i < k; ++i, x += kTokens) {
      if constexpr (kTokens <= 4)
        _mm_prefetch(reinterpret_cast<const char*>(w + i * (kId == kLayoutF32 ? 64 : 32) + 2048),
                     _MM_HINT_T0);
      const __m512 value = weights<kId>(w, i);
      for (int t = 0; t < kTokens; ++t) acc[t] = _mm512_fmadd_ps(value, _mm512_set1_ps(x[t]), acc[t]);
    }
    finish_tile<kTokens>(out, acc);
  }
};

// The elements of pairs of bf16, widened.
inline __m512 odd_of(__m512i pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000u))));
}
inline __m512 even_of(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }

// Two fused multiply-adds per pair where the machine has no vdpbf16ps, with the same bits.
struct Bf16Pairs512 {
  static constexpr int32_t kLayout = kLayoutBf16Pairs;
  static constexpr int64_t kWidest = 12;
  static constexpr int64_t kSlice = 512;
  static constexpr int64_t kPanelBytes = 0;
  static int64_t strip_bytes(int64_t k) { return bf16_strip_bytes(k); }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_bf16_strip(x, part, reinterpret_cast<uint32_t*>(out));
  }
  template <int kTokens>
  __attribute__((noinline)) static void tile(const uint8_t* w, const uint8_t* strip, int64_t k,
                                             const TileOut& out) {
    const auto* x = reinterpret_cast<const int32_t*>(strip);
    __m512 acc[kTokens];
    for (int t = 0; t < kTokens; ++t) acc[t] = start_tile(out, t);
    const uint32_t csr = flush_subnormals();
    for (int64_t i = 0; i < (k + 1) / 2; ++i, w += 64, x += kTokens) {
      if constexpr (kTokens <= 4) _mm_prefetch(reinterpret_cast<const char*>(w + 2048), _MM_HINT_T0);
      const __m512i pairs = _mm512_load_si512(reinterpret_cast<const void*>(w));
      const __m512 odd = odd_of(pairs), even = even_of(pairs);
      for (int t = 0; t < kTokens; ++t) {
        const __m512i value = _mm512_set1_epi32(x[t]);
        acc[t] = _mm512_fmadd_ps(odd, odd_of(value), acc[t]);
        acc[t] = _mm512_fmadd_ps(even, even_of(value), acc[t]);
      }
    }
    for (int t = 0; t < kTokens; ++t) INGLE_KEEP(acc[t]);
    restore_subnormals(csr);
    finish_tile<kTokens>(out, acc);
  }
};

#define INGLE_ROW(name, layout)                                                                 \
  {                                                                                             \
    name "_f32_gemm_avx512_r16", "avx512", name, layout, kActF32, run_strips<Float512<layout>>, \
        strip_scratch<Float512<layout>>                                                         \
  }
constexpr MatmulRow kFloatRows[] = {
    INGLE_ROW("f32", kLayoutF32),
    INGLE_ROW("f16", kLayoutF16),
    {"bf16_bf16_gemm_avx512_r16", "avx512", "bf16", kLayoutBf16Pairs, kActBf16, run_strips<Bf16Pairs512>,
     strip_scratch<Bf16Pairs512>},
};
#undef INGLE_ROW

}  // namespace

#ifndef INGLE_SIMDE
extern "C" const MatmulUnit ingle_matmul_avx512 = {kFloatRows, 3};
#endif

}  // namespace ingle::kernels
