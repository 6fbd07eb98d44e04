// Matmul tiles with AVX2, FMA and F16C. A group of 16 rows is two halves of 8: the bytes are those that
// AVX-512 reads. Products of unsigned codes and int8 activations are summed in int16 for as long as they
// cannot overflow (2 * 15 * 127 * 8 and 2 * 31 * 127 * 4 and 2 * 63 * 127 * 2 are below 32768), then widened.
#include <immintrin.h>
#include <stdint.h>

#include "kernels/isa.h"
#include "kernels/layout.h"
#include "kernels/strips.h"
#include "kernels/units.h"

namespace ingle::kernels {
namespace {

// Keeps GCC from hoisting products out of the loop and spilling them.
#define INGLE_PIN(x) asm("" : "+x"(x))

inline __m256i load32(const uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(p)); }
inline __m256i load_epi32x8(const uint8_t* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm256_set1_epi32(v);
}
inline __m256 load_psx8(const uint8_t* p) { return _mm256_broadcast_ss(reinterpret_cast<const float*>(p)); }
inline __m256 halves(const uint8_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline __m256 bytes_u(const uint8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline __m256 bytes_s(const uint8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

template <int kShift>
inline __m256i shifted(__m256i v) {
  if constexpr (kShift > 0) return _mm256_slli_epi16(v, kShift);
  if constexpr (kShift < 0) return _mm256_srli_epi16(v, -kShift);
  return v;
}

// Half a k-group pair (j, j + 4) of one block: codes below 64, or for 8 bits the low and the high nibble of
// k-group j.
template <int kBits, int j>
inline void unpack_pair(const uint8_t* codes, __m256i& low, __m256i& high) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i both = load32(codes + 64 * j);
  low = _mm256_and_si256(both, nibble);
  high = _mm256_and_si256(_mm256_srli_epi16(both, 4), nibble);
  if constexpr (kBits == 5) {
    const __m256i plane = load32(codes + 256), bit = _mm256_set1_epi8(16);
    low = _mm256_or_si256(low, _mm256_and_si256(shifted<4 - j>(plane), bit));
    high = _mm256_or_si256(high, _mm256_and_si256(shifted<-j>(plane), bit));
  }
  if constexpr (kBits == 6) {
    const __m256i bits = _mm256_set1_epi8(48);
    low = _mm256_or_si256(low, _mm256_and_si256(shifted<4 - 2 * j>(load32(codes + 256)), bits));
    high = _mm256_or_si256(high, _mm256_and_si256(shifted<4 - 2 * j>(load32(codes + 320)), bits));
  }
}

inline void store_half(const TileOut& out, int64_t t, int64_t row, __m256 acc) {
  float* y = out.y + t * out.ldy + row;
  const int64_t rows = out.rows - row;
  if (rows <= 0) return;
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(rows)), lanes);
  if (out.bias) acc = _mm256_add_ps(acc, _mm256_maskload_ps(out.bias + row, mask));
  if (out.accumulate) acc = _mm256_add_ps(acc, _mm256_maskload_ps(y, mask));
  _mm256_maskstore_ps(y, mask, acc);
}

template <int kId>
struct Avx2 {
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = 4;
  static constexpr LayoutSpec kSpec = layout_spec(kId);
  static constexpr int32_t kRecord = record_bytes<kId>();
  static constexpr bool kHasMin = kSpec.zero_shift < 0;

  static int64_t strip_bytes(int64_t k) { return k / kBlock * kRecord; }
  static void pack(const Activations& x, int64_t t0, int64_t tokens, uint8_t* out) {
    pack_strip<kId>(x, t0, tokens, out);
  }

  // Adds to the int16 sums of every token the products of k-groups j and j + 4 (for 8 bits: both nibbles of
  // j).
  template <int kTokens, int j>
  static inline void step(const uint8_t* codes, const uint8_t* a, __m256i* low_sum, __m256i* high_sum) {
    __m256i low, high;
    unpack_pair<kSpec.bits, j>(codes, low, high);
    constexpr int other = kSpec.bits == 8 ? j : j + 4;
    for (int t = 0; t < kTokens; ++t) {
      low_sum[t] =
          _mm256_add_epi16(low_sum[t], _mm256_maddubs_epi16(low, load_epi32x8(a + t * kRecord + 4 * j)));
      INGLE_PIN(low_sum[t]);
      high_sum[t] = _mm256_add_epi16(high_sum[t],
                                     _mm256_maddubs_epi16(high, load_epi32x8(a + t * kRecord + 4 * other)));
      INGLE_PIN(high_sum[t]);
    }
  }

  static inline __m256i widen(__m256i sums, int32_t factor) {
    return _mm256_madd_epi16(sums, _mm256_set1_epi16(static_cast<int16_t>(factor)));
  }

  template <int kTokens>
  static inline void add_to(const uint8_t* a, int start, __m256 scale, __m256 min, const __m256i* dot,
                            __m256* acc) {
    for (int t = 0; t < kTokens; ++t) {
      __m256i total = dot[t];
      if constexpr (!kHasMin) total = _mm256_add_epi32(total, load_epi32x8(a + t * kRecord + start));
      const __m256 product = _mm256_mul_ps(scale, load_psx8(a + t * kRecord + 32));
      acc[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(total), product, acc[t]);
      if constexpr (kHasMin) acc[t] = _mm256_fmadd_ps(min, load_psx8(a + t * kRecord + 36), acc[t]);
    }
  }

  // Half a block (8 rows) against all tokens of the strip.
  template <int kTokens>
  static inline void half_block(const uint8_t* codes, const uint8_t* a, __m256 scale0, __m256 scale1,
                                __m256 min, __m256* acc) {
    __m256i low[kTokens], high[kTokens];
    for (int t = 0; t < kTokens; ++t) low[t] = high[t] = _mm256_setzero_si256();
    if constexpr (kSpec.bits == 8) {
      step<kTokens, 0>(codes, a, low, high);
      step<kTokens, 1>(codes, a, low, high);
      step<kTokens, 2>(codes, a, low, high);
      step<kTokens, 3>(codes, a, low, high);
      step<kTokens, 4>(codes, a, low, high);
      step<kTokens, 5>(codes, a, low, high);
      step<kTokens, 6>(codes, a, low, high);
      step<kTokens, 7>(codes, a, low, high);
      for (int t = 0; t < kTokens; ++t) low[t] = _mm256_add_epi32(widen(low[t], 1), widen(high[t], 16));
      add_to<kTokens>(a, 36, scale0, min, low, acc);
      return;
    }
    step<kTokens, 0>(codes, a, low, high);
    step<kTokens, 1>(codes, a, low, high);
    if constexpr (kSpec.bits == 6) {  // two sums each, then to int32
      __m256i low2[kTokens], high2[kTokens];
      for (int t = 0; t < kTokens; ++t) low2[t] = high2[t] = _mm256_setzero_si256();
      step<kTokens, 2>(codes, a, low2, high2);
      step<kTokens, 3>(codes, a, low2, high2);
      for (int t = 0; t < kTokens; ++t) {
        low[t] = _mm256_add_epi32(widen(low[t], 1), widen(low2[t], 1));
        high[t] = _mm256_add_epi32(widen(high[t], 1), widen(high2[t], 1));
      }
      add_to<kTokens>(a, 36, scale0, min, low, acc);
      add_to<kTokens>(a, 40, scale1, min, high, acc);
      return;
    }
    step<kTokens, 2>(codes, a, low, high);
    step<kTokens, 3>(codes, a, low, high);
    for (int t = 0; t < kTokens; ++t)
      low[t] = kSpec.bits == 4 ? widen(_mm256_add_epi16(low[t], high[t]), 1)
                               : _mm256_add_epi32(widen(low[t], 1), widen(high[t], 1));
    add_to<kTokens>(a, 36, scale0, min, low, acc);
  }

  template <int kTokens>
  static void tile(const uint8_t* w, const uint8_t* strip, int64_t k, const TileOut& out) {
    __m256 acc[2][kTokens];
    for (int t = 0; t < kTokens; ++t) acc[0][t] = acc[1][t] = _mm256_setzero_ps();
    const uint8_t* codes = w;
    const uint8_t* super = w;
    for (int64_t b = 0; b < k / kBlock; ++b) {
      if constexpr (kSpec.super != 0) {
        if (b % kSuperBlocks == 0) {
          super = codes;
          codes += kSuperHeader;
        }
      }
      const bool odd = b % 2 != 0;
      const uint8_t* scales = odd ? codes - kSpec.scale_bytes : codes + kSpec.code_bytes;
      for (int line = 0; line < kSpec.code_bytes + kSpec.scale_bytes; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(codes + line + 2048), _MM_HINT_T0);
      for (int h = 0; h < 2; ++h) {
        __m256 scale0, scale1 = _mm256_setzero_ps(), min = _mm256_setzero_ps();
        if constexpr (kSpec.super == 0) {
          scale0 = halves(scales + 16 * h);
          if constexpr (kHasMin) min = halves(scales + 32 + 16 * h);
        } else if constexpr (kHasMin) {
          scale0 = _mm256_mul_ps(halves(super + 16 * h), bytes_u(scales + 8 * h));
          min = _mm256_mul_ps(halves(super + 32 + 16 * h), bytes_u(scales + 16 + 8 * h));
          min = _mm256_sub_ps(_mm256_setzero_ps(), min);
        } else {
          scale0 = _mm256_mul_ps(halves(super + 16 * h), bytes_s(scales + 8 * h));
          scale1 = _mm256_mul_ps(halves(super + 16 * h), bytes_s(scales + 16 + 8 * h));
        }
        half_block<kTokens>(codes + 32 * h, strip, scale0, scale1, min, acc[h]);
      }
      strip += kTokens * kRecord;
      codes += odd ? kSpec.code_bytes : kSpec.code_bytes + 2 * kSpec.scale_bytes;
    }
    for (int t = 0; t < kTokens; ++t)
      for (int h = 0; h < 2; ++h) store_half(out, t, 8 * h, acc[h][t]);
  }
};

template <int kLayout>
inline __m256 weights(const uint8_t* w, int64_t at) {
  if constexpr (kLayout == kLayoutF32) return _mm256_load_ps(reinterpret_cast<const float*>(w) + at);
  const __m128i bits = _mm_load_si128(reinterpret_cast<const __m128i*>(w + 2 * at));
  if constexpr (kLayout == kLayoutF16) return _mm256_cvtph_ps(bits);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

template <int kId>
struct FloatAvx2 {
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = 6;
  static int64_t strip_bytes(int64_t k) { return k * 4; }
  static void pack(const Activations& x, int64_t t0, int64_t tokens, uint8_t* out) {
    pack_float_strip(x, t0, tokens, reinterpret_cast<float*>(out));
  }
  template <int kTokens>
  static void tile(const uint8_t* w, const uint8_t* strip, int64_t k, const TileOut& out) {
    const float* x = reinterpret_cast<const float*>(strip);
    __m256 acc[2][kTokens];
    for (int t = 0; t < kTokens; ++t) acc[0][t] = acc[1][t] = _mm256_setzero_ps();
    for (int64_t i = 0; i < k; ++i, x += kTokens) {
      if constexpr (kTokens <= 4)
        _mm_prefetch(reinterpret_cast<const char*>(w + i * (kId == kLayoutF32 ? 64 : 32) + 2048),
                     _MM_HINT_T0);
      const __m256 w0 = weights<kId>(w, i * kRows), w1 = weights<kId>(w, i * kRows + 8);
      for (int t = 0; t < kTokens; ++t) {
        const __m256 value = _mm256_broadcast_ss(x + t);
        acc[0][t] = _mm256_fmadd_ps(w0, value, acc[0][t]);
        acc[1][t] = _mm256_fmadd_ps(w1, value, acc[1][t]);
      }
    }
    for (int t = 0; t < kTokens; ++t)
      for (int h = 0; h < 2; ++h) store_half(out, t, 8 * h, acc[h][t]);
  }
};

#define INGLE_Q8(name, layout)                                                        \
  {                                                                                   \
    name "_q8_gemm_avx2_r16", "avx2", name, layout, kActQ8, run_strips<Avx2<layout>>, \
        strip_scratch<Avx2<layout>>                                                   \
  }
#define INGLE_F32(name, layout)                                                              \
  {                                                                                          \
    name "_f32_gemm_avx2_r16", "avx2", name, layout, kActF32, run_strips<FloatAvx2<layout>>, \
        strip_scratch<FloatAvx2<layout>>                                                     \
  }
constexpr MatmulRow kMatmulRows[] = {
    INGLE_Q8("q4_0", kLayoutQ4_0), INGLE_Q8("q4_1", kLayoutQ4_1),  INGLE_Q8("q5_0", kLayoutQ5_0),
    INGLE_Q8("q5_1", kLayoutQ5_1), INGLE_Q8("q8_0", kLayoutQ8_0),  INGLE_Q8("q4_k", kLayoutQ4_K),
    INGLE_Q8("q5_k", kLayoutQ5_K), INGLE_Q8("q6_k", kLayoutQ6_K),  INGLE_F32("f32", kLayoutF32),
    INGLE_F32("f16", kLayoutF16),  INGLE_F32("bf16", kLayoutBf16),
};
#undef INGLE_Q8
#undef INGLE_F32

}  // namespace

extern "C" const MatmulUnit ingle_matmul_avx2 = {kMatmulRows, 11};

}  // namespace ingle::kernels
