// Sixteen lanes as an array, in plain C++: slow, and the oracle of the other two; see x86/vec_lanes_avx512.h.
#pragma once
#include <stdint.h>

#define INGLE_LANE inline

namespace ingle::kernels {
namespace {

struct V {
  float x[16];
};
struct I {
  int32_t x[16];
};
struct M {
  bool x[16];
};

constexpr int kTileRows = 2;
constexpr int kScoreVecs = 1;
constexpr int value_rows(int rows) { return rows; }
constexpr int value_vecs(int) { return 1; }

template <class R, class F>
inline R lanes(F f) {
  R r;
  for (int i = 0; i < 16; ++i) r.x[i] = f(i);
  return r;
}
inline float float_of(uint32_t u) {
  float f;
  __builtin_memcpy(&f, &u, 4);
  return f;
}
inline uint32_t bits_of(float f) {
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  return u;
}

inline V set1(float f) {
  return lanes<V>([&](int) { return f; });
}
inline V zero() { return set1(0.0f); }
inline V load(const float* p) {
  return lanes<V>([&](int i) { return p[i]; });
}
inline V load_n(const float* p, int64_t n) {
  return lanes<V>([&](int i) { return i < n ? p[i] : 0.0f; });
}
inline void store_n(float* p, const V& v, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = v.x[i];
}
inline void store(float* p, const V& v) { store_n(p, v, 16); }

inline V add(const V& a, const V& b) {
  return lanes<V>([&](int i) { return a.x[i] + b.x[i]; });
}
inline V sub(const V& a, const V& b) {
  return lanes<V>([&](int i) { return a.x[i] - b.x[i]; });
}
inline V mul(const V& a, const V& b) {
  return lanes<V>([&](int i) { return a.x[i] * b.x[i]; });
}
inline V div(const V& a, const V& b) {
  return lanes<V>([&](int i) { return a.x[i] / b.x[i]; });
}
inline V sqrt_lanes(const V& a) {
  return lanes<V>([&](int i) { return __builtin_sqrtf(a.x[i]); });
}
inline V fma(const V& a, const V& b, const V& c) {
  return lanes<V>([&](int i) { return __builtin_fmaf(a.x[i], b.x[i], c.x[i]); });
}
inline V max_of(const V& a, const V& b) {
  return lanes<V>([&](int i) { return a.x[i] > b.x[i] ? a.x[i] : b.x[i]; });
}
inline V min_of(const V& a, const V& b) {
  return lanes<V>([&](int i) { return a.x[i] < b.x[i] ? a.x[i] : b.x[i]; });
}

inline I bits(const V& a) {
  return lanes<I>([&](int i) { return static_cast<int32_t>(bits_of(a.x[i])); });
}
inline V from_bits(const I& a) {
  return lanes<V>([&](int i) { return float_of(static_cast<uint32_t>(a.x[i])); });
}
// Round to nearest even, for |x| < 2^22: the sum's low bits are the integer.
inline I to_int(const V& a) {
  return lanes<I>([&](int i) {
    const float shifted = a.x[i] + 12582912.0f;
    return static_cast<int32_t>(bits_of(shifted)) - 0x4B400000;
  });
}
inline I iset1(int32_t v) {
  return lanes<I>([&](int) { return v; });
}
inline I iand(const I& a, const I& b) {
  return lanes<I>([&](int i) { return a.x[i] & b.x[i]; });
}
inline I ior(const I& a, const I& b) {
  return lanes<I>([&](int i) { return a.x[i] | b.x[i]; });
}
inline I iadd(const I& a, const I& b) {
  return lanes<I>([&](int i) {
    return static_cast<int32_t>(static_cast<uint32_t>(a.x[i]) + static_cast<uint32_t>(b.x[i]));
  });
}
inline I imax(const I& a, const I& b) {
  return lanes<I>([&](int i) { return a.x[i] > b.x[i] ? a.x[i] : b.x[i]; });
}
template <int kBits>
inline I shift_left(const I& a) {
  return lanes<I>([&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.x[i]) << kBits); });
}
template <int kBits>
inline I shift_right(const I& a) {
  return lanes<I>([&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.x[i]) >> kBits); });
}

inline M less(const V& a, const V& b) {
  return lanes<M>([&](int i) { return a.x[i] < b.x[i]; });
}
inline M equal(const V& a, const V& b) {
  return lanes<M>([&](int i) { return a.x[i] == b.x[i]; });
}
inline M is_nan(const V& a) {
  return lanes<M>([&](int i) { return a.x[i] != a.x[i]; });
}
inline M igreater(const I& a, const I& b) {
  return lanes<M>([&](int i) { return a.x[i] > b.x[i]; });
}
inline M lanes_between(int64_t low, int64_t high) {
  return lanes<M>([&](int i) { return low <= i && i <= high; });
}
inline V select(const M& m, const V& a, const V& b) {
  return lanes<V>([&](int i) { return m.x[i] ? a.x[i] : b.x[i]; });
}
inline uint32_t mask_bits(const M& m) {
  uint32_t r = 0;
  for (int i = 0; i < 16; ++i) r |= static_cast<uint32_t>(m.x[i]) << i;
  return r;
}

inline float reduce_add(V a) {
  for (int step = 8; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) a.x[i] = a.x[i] + a.x[i + step];
  }
  return a.x[0];
}
inline float reduce_max(V a) {
  for (int step = 8; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) a.x[i] = a.x[i] > a.x[i + step] ? a.x[i] : a.x[i + step];
  }
  return a.x[0];
}
inline int32_t ireduce_add(const I& a) {
  int32_t r = 0;
  for (const int32_t v : a.x) r += v;
  return r;
}
inline int32_t ireduce_max(const I& a) {
  int32_t r = a.x[0];
  for (const int32_t v : a.x) r = v > r ? v : r;
  return r;
}

inline void store_i8(int8_t* p, const I& a) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(a.x[i]);
}

inline V load_i8(const int8_t* p) {
  return lanes<V>([&](int i) { return static_cast<float>(p[i]); });
}

// 16 codes of -8 to 7 from 8 bytes: the low halves, then the high ones, each plus 8.
inline V load_i4(const uint8_t* p) {
  return lanes<V>([&](int i) { return static_cast<float>((i < 8 ? p[i] & 15 : p[i - 8] >> 4) - 8); });
}

// A NaN keeps its sign and the top of its payload, and becomes quiet, as the processor's conversion does.
inline float f16_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t rest = h & 0x7FFF;
  if (rest > 0x7C00) return float_of(sign | 0x7FC00000U | rest << 13);
  if (rest == 0x7C00) return float_of(sign | 0x7F800000U);
  if (rest >= 0x0400) return float_of(sign | ((rest << 13) + 0x38000000U));
  const float subnormal = static_cast<float>(rest) * 0x1p-24f;  // exact
  return float_of(sign | bits_of(subnormal));
}
inline uint16_t float_to_f16(float f) {
  const uint32_t u = bits_of(f);
  const uint32_t sign = u >> 16 & 0x8000;
  const uint32_t a = u & 0x7FFFFFFF;
  if (a > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | (a >> 13 & 0x3FF));
  if (a >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);  // 65520 and more round to infinity
  if (a < 0x38800000) {  // subnormal: the sum is rounded at 2^-24 by the addition
    return static_cast<uint16_t>(sign | (bits_of(float_of(a) + 0.5f) - 0x3F000000U));
  }
  const uint32_t odd = a >> 13 & 1;
  return static_cast<uint16_t>(sign | (a - 0x38000000U + 0xFFF + odd) >> 13);
}

inline V load_f16_n(const uint16_t* p, int64_t n) {
  return lanes<V>([&](int i) { return i < n ? f16_to_float(p[i]) : 0.0f; });
}
inline V load_f16(const uint16_t* p) { return load_f16_n(p, 16); }
inline V load_bf16_n(const uint16_t* p, int64_t n) {
  return lanes<V>([&](int i) { return i < n ? float_of(static_cast<uint32_t>(p[i]) << 16) : 0.0f; });
}
inline V load_bf16(const uint16_t* p) { return load_bf16_n(p, 16); }
inline void store_f16_n(uint16_t* p, const V& v, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = float_to_f16(v.x[i]);
}
inline void store_f16(uint16_t* p, const V& v) { store_f16_n(p, v, 16); }
inline void store_low16(uint16_t* p, const I& v) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<uint16_t>(v.x[i]);
}

inline void pin(V&) {}

}  // namespace
}  // namespace ingle::kernels
