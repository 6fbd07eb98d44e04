// Sixteen lanes as one 512-bit register. The three vec_lanes headers offer the same names with the same bits;
// the row functions (vec_rows.h, attend_rows.h) are written once on top of them.
#pragma once
#include <immintrin.h>
#include <stdint.h>

#define INGLE_LANE inline __attribute__((always_inline))

namespace ingle::kernels {
namespace {

using V = __m512;
using I = __m512i;
using M = __mmask16;

// Register tiles of attention: rows per tile, and vectors per row so that all accumulators stay in 32
// registers.
constexpr int kTileRows = 12;
constexpr int kScoreVecs = 2;
constexpr int value_rows(int rows) {
  return rows > 6 ? rows / 2 : rows;
}  // wide rather than high: fewer broadcasts
constexpr int value_vecs(int rows) { return rows <= 3 ? 8 : 4; }

INGLE_LANE M mask_n(int64_t n) { return static_cast<M>((1U << n) - 1U); }

INGLE_LANE V zero() { return _mm512_setzero_ps(); }
INGLE_LANE V set1(float x) { return _mm512_set1_ps(x); }
INGLE_LANE V load(const float* p) { return _mm512_loadu_ps(p); }
INGLE_LANE V load_n(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(mask_n(n), p); }
INGLE_LANE void store(float* p, V x) { _mm512_storeu_ps(p, x); }
INGLE_LANE void store_n(float* p, V x, int64_t n) { _mm512_mask_storeu_ps(p, mask_n(n), x); }

INGLE_LANE V add(V a, V b) { return _mm512_add_ps(a, b); }
INGLE_LANE V sub(V a, V b) { return _mm512_sub_ps(a, b); }
INGLE_LANE V mul(V a, V b) { return _mm512_mul_ps(a, b); }
INGLE_LANE V div(V a, V b) { return _mm512_div_ps(a, b); }
INGLE_LANE V sqrt_lanes(V a) { return _mm512_sqrt_ps(a); }
INGLE_LANE V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }  // a b + c
INGLE_LANE V max_of(V a, V b) { return _mm512_max_ps(a, b); }         // a > b ? a : b
INGLE_LANE V min_of(V a, V b) { return _mm512_min_ps(a, b); }         // a < b ? a : b

INGLE_LANE I bits(V a) { return _mm512_castps_si512(a); }
INGLE_LANE V from_bits(I a) { return _mm512_castsi512_ps(a); }
INGLE_LANE I to_int(V a) { return _mm512_cvtps_epi32(a); }  // round to nearest even
INGLE_LANE I iset1(int32_t x) { return _mm512_set1_epi32(x); }
INGLE_LANE I iand(I a, I b) { return _mm512_and_si512(a, b); }
INGLE_LANE I ior(I a, I b) { return _mm512_or_si512(a, b); }
INGLE_LANE I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
INGLE_LANE I imax(I a, I b) { return _mm512_max_epi32(a, b); }
template <int kBits>
INGLE_LANE I shift_left(I a) {
  return _mm512_slli_epi32(a, kBits);
}
template <int kBits>
INGLE_LANE I shift_right(I a) {
  return _mm512_srli_epi32(a, kBits);
}

INGLE_LANE M less(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
INGLE_LANE M equal(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
INGLE_LANE M is_nan(V a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
INGLE_LANE M igreater(I a, I b) { return _mm512_cmpgt_epi32_mask(a, b); }
INGLE_LANE M lanes_between(int64_t low, int64_t high) {  // 0 <= low, high <= 15
  return static_cast<M>((2U << high) - (1U << low));
}
INGLE_LANE V select(M m, V a, V b) { return _mm512_mask_blend_ps(m, b, a); }  // m ? a : b
INGLE_LANE uint32_t mask_bits(M m) { return m; }

// The tree of every reduction: lanes 8 apart, then 4, 2, 1.
INGLE_LANE float reduce_add(V a) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 p = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(p, _mm_movehdup_ps(p)));
}
INGLE_LANE float reduce_max(V a) {
  const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  const __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 p = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(p, _mm_movehdup_ps(p)));
}
INGLE_LANE int32_t ireduce_add(I a) { return _mm512_reduce_add_epi32(a); }
INGLE_LANE int32_t ireduce_max(I a) { return _mm512_reduce_max_epi32(a); }

INGLE_LANE void store_i8(int8_t* p, I a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
}

INGLE_LANE V load_i8(const int8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

// 16 codes of -8 to 7 from 8 bytes: the low halves, then the high ones, each plus 8.
INGLE_LANE V load_i4(const uint8_t* p) {
  const __m128i both = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i codes = _mm_and_si128(_mm_unpacklo_epi64(both, _mm_srli_epi16(both, 4)), _mm_set1_epi8(15));
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_sub_epi8(codes, _mm_set1_epi8(8))));
}

INGLE_LANE __m256i load_u16(const uint16_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
INGLE_LANE V load_f16(const uint16_t* p) { return _mm512_cvtph_ps(load_u16(p)); }
INGLE_LANE V load_f16_n(const uint16_t* p, int64_t n) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask_n(n), p));
}
INGLE_LANE __m256i f16_of(V x) { return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT); }
INGLE_LANE void store_f16(uint16_t* p, V x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), f16_of(x)); }
INGLE_LANE void store_f16_n(uint16_t* p, V x, int64_t n) {
  _mm256_mask_storeu_epi16(p, mask_n(n), f16_of(x));
}
INGLE_LANE V widen_u16(__m256i x) { return from_bits(shift_left<16>(_mm512_cvtepu16_epi32(x))); }
INGLE_LANE V load_bf16(const uint16_t* p) { return widen_u16(load_u16(p)); }
INGLE_LANE void store_low16(uint16_t* p, I x) {  // the low halves of 16 lanes
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x));
}

// Keeps the compiler from moving an accumulator out of its register.
INGLE_LANE void pin(V& x) { asm("" : "+v"(x)); }

}  // namespace
}  // namespace ingle::kernels
