// Sixteen lanes as two 256-bit registers; see vec_lanes_avx512.h.
#pragma once
#include <immintrin.h>
#include <stdint.h>

#define INGLE_LANE inline __attribute__((always_inline))

namespace ingle::kernels {
namespace {

struct V {
  __m256 a, b;  // lanes 0..7, 8..15
};
struct I {
  __m256i a, b;
};
struct M {
  __m256 a, b;  // all ones or zeros per lane
};

constexpr int kTileRows = 6;
constexpr int kScoreVecs = 1;
constexpr int value_rows(int rows) { return rows; }
constexpr int value_vecs(int rows) { return rows <= 1 ? 4 : rows <= 3 ? 2 : 1; }

INGLE_LANE M lanes_between(int64_t low, int64_t high) {
  const __m256i l = _mm256_set1_epi32(static_cast<int32_t>(low) - 1);
  const __m256i h = _mm256_set1_epi32(static_cast<int32_t>(high) + 1);
  const __m256i i = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i j = _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15);
  return {_mm256_castsi256_ps(_mm256_and_si256(_mm256_cmpgt_epi32(i, l), _mm256_cmpgt_epi32(h, i))),
          _mm256_castsi256_ps(_mm256_and_si256(_mm256_cmpgt_epi32(j, l), _mm256_cmpgt_epi32(h, j)))};
}

INGLE_LANE V zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
INGLE_LANE V set1(float x) {
  const __m256 v = _mm256_set1_ps(x);
  return {v, v};
}
INGLE_LANE V load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
INGLE_LANE V load_n(const float* p, int64_t n) {
  const M m = lanes_between(0, n - 1);
  return {_mm256_maskload_ps(p, _mm256_castps_si256(m.a)),
          _mm256_maskload_ps(p + 8, _mm256_castps_si256(m.b))};
}
INGLE_LANE void store(float* p, V x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
INGLE_LANE void store_n(float* p, V x, int64_t n) {
  const M m = lanes_between(0, n - 1);
  _mm256_maskstore_ps(p, _mm256_castps_si256(m.a), x.a);
  _mm256_maskstore_ps(p + 8, _mm256_castps_si256(m.b), x.b);
}

INGLE_LANE V add(V x, V y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
INGLE_LANE V sub(V x, V y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
INGLE_LANE V mul(V x, V y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
INGLE_LANE V div(V x, V y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
INGLE_LANE V sqrt_lanes(V x) { return {_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)}; }
INGLE_LANE V fma(V x, V y, V z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
INGLE_LANE V max_of(V x, V y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
INGLE_LANE V min_of(V x, V y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }

INGLE_LANE I bits(V x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
INGLE_LANE V from_bits(I x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
INGLE_LANE I to_int(V x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
INGLE_LANE I iset1(int32_t x) {
  const __m256i v = _mm256_set1_epi32(x);
  return {v, v};
}
INGLE_LANE I iand(I x, I y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
INGLE_LANE I ior(I x, I y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
INGLE_LANE I iadd(I x, I y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
INGLE_LANE I imax(I x, I y) { return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)}; }
template <int kBits>
INGLE_LANE I shift_left(I x) {
  return {_mm256_slli_epi32(x.a, kBits), _mm256_slli_epi32(x.b, kBits)};
}
template <int kBits>
INGLE_LANE I shift_right(I x) {
  return {_mm256_srli_epi32(x.a, kBits), _mm256_srli_epi32(x.b, kBits)};
}

INGLE_LANE M less(V x, V y) {
  return {_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ)};
}
INGLE_LANE M equal(V x, V y) {
  return {_mm256_cmp_ps(x.a, y.a, _CMP_EQ_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_EQ_OQ)};
}
INGLE_LANE M is_nan(V x) {
  return {_mm256_cmp_ps(x.a, x.a, _CMP_UNORD_Q), _mm256_cmp_ps(x.b, x.b, _CMP_UNORD_Q)};
}
INGLE_LANE M igreater(I x, I y) {
  return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(x.a, y.a)),
          _mm256_castsi256_ps(_mm256_cmpgt_epi32(x.b, y.b))};
}
INGLE_LANE V select(M m, V x, V y) {
  return {_mm256_blendv_ps(y.a, x.a, m.a), _mm256_blendv_ps(y.b, x.b, m.b)};
}
INGLE_LANE uint32_t mask_bits(M m) {
  return static_cast<uint32_t>(_mm256_movemask_ps(m.a)) | static_cast<uint32_t>(_mm256_movemask_ps(m.b)) << 8;
}

INGLE_LANE float reduce_add(V x) {
  const __m256 h = _mm256_add_ps(x.a, x.b);
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 p = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(p, _mm_movehdup_ps(p)));
}
INGLE_LANE float reduce_max(V x) {
  const __m256 h = _mm256_max_ps(x.a, x.b);
  const __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 p = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(p, _mm_movehdup_ps(p)));
}
INGLE_LANE int32_t ireduce_add(I x) {
  const __m256i h = _mm256_add_epi32(x.a, x.b);
  __m128i q = _mm_add_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
  q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xB1)));
}
INGLE_LANE int32_t ireduce_max(I x) {
  const __m256i h = _mm256_max_epi32(x.a, x.b);
  __m128i q = _mm_max_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
  q = _mm_max_epi32(q, _mm_shuffle_epi32(q, 0x4E));
  return _mm_cvtsi128_si32(_mm_max_epi32(q, _mm_shuffle_epi32(q, 0xB1)));
}

INGLE_LANE void store_i8(int8_t* p, I x) {
  const __m128i low = _mm_packs_epi32(_mm256_castsi256_si128(x.a), _mm256_extracti128_si256(x.a, 1));
  const __m128i high = _mm_packs_epi32(_mm256_castsi256_si128(x.b), _mm256_extracti128_si256(x.b, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(low, high));
}

INGLE_LANE V load_i8(const int8_t* p) {
  const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(codes, 8)))};
}

// 16 codes of -8 to 7 from 8 bytes: the low halves, then the high ones, each plus 8.
INGLE_LANE V load_i4(const uint8_t* p) {
  const __m128i both = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i eight = _mm_set1_epi8(8), fifteen = _mm_set1_epi8(15);
  const __m128i low = _mm_sub_epi8(_mm_and_si128(both, fifteen), eight);
  const __m128i high = _mm_sub_epi8(_mm_and_si128(_mm_srli_epi16(both, 4), fifteen), eight);
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(low)), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(high))};
}

INGLE_LANE __m128i load_8u16(const uint16_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
INGLE_LANE void store_8u16(uint16_t* p, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x); }
INGLE_LANE V load_f16(const uint16_t* p) {
  return {_mm256_cvtph_ps(load_8u16(p)), _mm256_cvtph_ps(load_8u16(p + 8))};
}
INGLE_LANE V load_bf16(const uint16_t* p) {
  return from_bits(
      shift_left<16>(I{_mm256_cvtepu16_epi32(load_8u16(p)), _mm256_cvtepu16_epi32(load_8u16(p + 8))}));
}
INGLE_LANE void store_f16(uint16_t* p, V x) {
  store_8u16(p, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
  store_8u16(p + 8, _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}
// There are no masked 16-bit moves below AVX-512, so partial ones go through a copy.
struct U16Copy {
  uint16_t x[16];
};
INGLE_LANE U16Copy copy_n(const uint16_t* p, int64_t n) {
  U16Copy c{};
  for (int64_t i = 0; i < n; ++i) c.x[i] = p[i];
  return c;
}
INGLE_LANE V load_f16_n(const uint16_t* p, int64_t n) { return load_f16(copy_n(p, n).x); }
INGLE_LANE void store_f16_n(uint16_t* p, V x, int64_t n) {
  U16Copy c;
  store_f16(c.x, x);
  for (int64_t i = 0; i < n; ++i) p[i] = c.x[i];
}
INGLE_LANE void store_low16(uint16_t* p, I x) {
  const __m256i low = _mm256_set1_epi32(0xFFFF);
  const __m256i packed = _mm256_packus_epi32(_mm256_and_si256(x.a, low), _mm256_and_si256(x.b, low));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xD8));
}

INGLE_LANE void pin(V& x) { asm("" : "+x"(x.a), "+x"(x.b)); }

}  // namespace
}  // namespace ingle::kernels
