// Keys and values into paged state, written once over the 16 lanes of the unit that includes this.
#pragma once
#include "kernels/attend_scratch.h"
#include "kernels/isa.h"
#include "kernels/vec_functions.h"

namespace ingle::kernels {
namespace {

INGLE_LANE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
INGLE_LANE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Of a tile with n codes for each token.
INGLE_LANE const uint16_t* scales_of(const uint8_t* tile, int64_t n) {
  return reinterpret_cast<const uint16_t*>(tile + n * kPageTokens);
}

// Runs of so many of n values are turned together: the largest power of two that divides n, within a chunk.
INGLE_LANE int64_t turned_together(int64_t n) { return smaller(n & -n, kChunk); }
// Multiplies each run of b values by the Hadamard matrix of order b over sqrt(b): orthogonal, so the product
// of two rows that are turned is what it was.
__attribute__((noinline)) void turn(float* x, int64_t n, int64_t b) {
  float factor = 1.0f;
  int64_t rest = b;
  for (; rest >= 4; rest /= 4) factor *= 0.5f;
  if (rest == 2) factor *= 0.707106781f;
  for (int64_t run = 0; run < n; run += b) {
    for (int64_t half = 1; half < b; half *= 2) {
      for (int64_t i = run; i < run + b; i += 2 * half) {
        int64_t j = i;
        for (; half >= 16 && j < i + half; j += 16) {
          const V low = load(x + j), high = load(x + j + half);
          store(x + j, add(low, high));
          store(x + j + half, sub(low, high));
        }
        for (; j < i + half; ++j) {
          const float low = x[j], high = x[j + half];
          x[j] = low + high;
          x[j + half] = low - high;
        }
      }
    }
    for (int64_t i = run; i < run + b; ++i) x[i] *= factor;
  }
}

// 16 values as 16-bit state.
INGLE_LANE void narrow(int32_t type, V x, uint16_t* to) {
  if (type == kKvF16) {
    store_f16(to, x);
  } else {
    store_low16(to, bf16_of(x));
  }
}

// The bits of the largest magnitude; a NaN or infinity counts as the largest.
__attribute__((noinline)) int32_t top_of(const float* x, int64_t n) {
  I most = iset1(0);
  for (int64_t i = 0; i < n; i += 16)
    most = imax(most, iand(bits(load_n(x + i, smaller(16, n - i))), iset1(INT32_MAX)));
  return ireduce_max(most);
}

// The f16 scale of values up to that: over 127, rounded up where that is no f16, so that no code passes 127.
// NaN for what is no number, so that it is not lost in the codes.
__attribute__((noinline)) uint16_t scale_of(int32_t top) {
  if (top >= 0x7F800000) return 0x7E00;
  float largest, rounded[16];
  __builtin_memcpy(&largest, &top, 4);
  uint16_t scale[16];
  store_f16(scale, set1(largest / 127.0f));
  store(rounded, load_f16(scale));
  return static_cast<uint16_t>(scale[0] + (rounded[0] * 127.0f < largest ? 1 : 0));
}

// n values as codes, `step` apart.
__attribute__((noinline)) void store_codes(const float* x, int64_t n, uint16_t scale, int64_t step,
                                           int8_t* codes) {
  const uint16_t all[16] = {scale};
  float value[16];
  store(value, load_f16(all));
  const bool usable = value[0] > 0.0f;  // neither zero nor NaN
  const V inverse = set1(usable ? 1.0f / value[0] : 0.0f);
  int8_t block[16];
  for (int64_t d = 0; d < n; d += 16) {
    const int64_t count = smaller(16, n - d);
    store_i8(block, usable ? to_int(mul(load_n(x + d, count), inverse)) : iset1(0));
    for (int64_t i = 0; i < count; ++i) codes[(d + i) * step] = block[i];
  }
}

void store_q8(const KvStoreArgs* a) {
  int8_t* k = reinterpret_cast<int8_t*>(a->k_tile) + a->slot;
  float turned[kChunk];
  const int64_t b = turned_together(a->dk);
  const auto turned_run = [&](int64_t d) {
    for (int64_t i = 0; i < b; ++i) turned[i] = a->k_center ? a->k[d + i] - a->k_center[d + i] : a->k[d + i];
    turn(turned, b, b);
  };
  int32_t top = 0;
  for (int64_t d = 0; d < a->dk; d += b) {
    turned_run(d);
    const int32_t of_run = top_of(turned, b);
    top = of_run > top ? of_run : top;
  }
  const uint16_t k_scale = scale_of(top), v_scale = scale_of(top_of(a->v, a->dv));
  for (int64_t d = 0; d < a->dk; d += b) {
    turned_run(d);
    store_codes(turned, b, k_scale, kPageTokens, k + d * kPageTokens);
  }
  store_codes(a->v, a->dv, v_scale, 1, reinterpret_cast<int8_t*>(a->v_tile) + a->slot * a->dv);
  reinterpret_cast<uint16_t*>(a->k_tile + a->dk * kPageTokens)[a->slot] = k_scale;
  reinterpret_cast<uint16_t*>(a->v_tile + a->dv * kPageTokens)[a->slot] = v_scale;
}

// 16 codes of -8 to 7 as 8 bytes.
__attribute__((noinline)) void store_i4(uint8_t* to, V codes) {
  int8_t code[16];
  store_i8(code, to_int(add(max_of(min_of(codes, set1(7.0f)), set1(-8.0f)), set1(8.0f))));
  for (int i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(code[i] | code[i + 8] << 4);
}

// The nearest f16, and what that is as a float.
__attribute__((noinline)) uint16_t half_of(float x, float& value) {
  uint16_t half[16];
  float values[16];
  store_f16(half, set1(x));
  store(values, load_f16(half));
  value = values[0];
  return half[0];
}

// The value of the largest magnitude becomes code -8: of the two ends of the codes the longer one.
INGLE_LANE void store_q4_values(const KvStoreArgs* a) {
  float turned[kChunk];
  const int64_t b = turned_together(a->dv);
  uint8_t* codes = a->v_tile + a->slot * (up_to_16(a->dv) / 2);
  const auto turned_run = [&](int64_t c) {
    for (int64_t i = 0; i < b; ++i) turned[i] = a->v[c + i];
    turn(turned, b, b);
  };
  float highest = -__builtin_inff(), lowest = __builtin_inff();
  bool finite = true;
  for (int64_t c = 0; c < a->dv; c += b) {
    turned_run(c);
    finite &= top_of(turned, b) < 0x7F800000;
    for (int64_t i = 0; i < b; ++i) {
      highest = turned[i] > highest ? turned[i] : highest;
      lowest = turned[i] < lowest ? turned[i] : lowest;
    }
  }
  float step = 0.0f;
  uint16_t scale = 0x7E00;
  if (finite) scale = half_of((highest > -lowest ? highest : lowest) / -8.0f, step);
  const V inverse = set1(step != 0.0f ? 1.0f / step : 0.0f);
  float run[16];
  int64_t filled = 0;
  const auto flush = [&] {
    for (int64_t i = filled; i < 16; ++i) run[i] = 0.0f;
    store_i4(codes, finite ? mul(load(run), inverse) : zero());
    codes += 8;
    filled = 0;
  };
  for (int64_t c = 0; c < a->dv; c += b) {
    turned_run(c);
    for (int64_t i = 0; i < b; ++i) {
      run[filled++] = turned[i];
      if (filled == 16) flush();
    }
  }
  if (filled > 0) flush();
  reinterpret_cast<uint16_t*>(a->v_tile + kPageTokens * (up_to_16(a->dv) / 2))[a->slot] = scale;
}

// Each channel's least and largest value lie at the ends of its codes.
void kv_close(const KvCloseArgs* a) {
  const uint16_t* fine = reinterpret_cast<const uint16_t*>(a->fine);
  uint8_t* codes = a->k_tile;
  uint16_t* steps = reinterpret_cast<uint16_t*>(a->k_tile + a->dk * (kPageTokens / 2));
  uint16_t* middles = steps + a->dk;
  for (int64_t d = 0; d < a->dk; ++d, fine += kPageTokens, codes += kPageTokens / 2) {
    const V low = load_f16(fine), high = load_f16(fine + 16);
    const I magnitude = iset1(INT32_MAX);
    const int32_t top = ireduce_max(imax(iand(bits(low), magnitude), iand(bits(high), magnitude)));
    float step = 0.0f, middle = 0.0f;
    steps[d] = middles[d] = 0x7E00;
    if (top < 0x7F800000) {
      const float largest = reduce_max(max_of(low, high)),
                  least = -reduce_max(max_of(negate(low), negate(high)));
      steps[d] = half_of((largest - least) / 15.0f, step);
      middles[d] = half_of(least + 8.0f * step, middle);
    }
    const V inverse = set1(step > 0.0f ? 1.0f / step : 0.0f), origin = set1(middle);
    const bool finite = top < 0x7F800000;
    store_i4(codes, finite ? mul(sub(low, origin), inverse) : zero());
    store_i4(codes + 8, finite ? mul(sub(high, origin), inverse) : zero());
  }
}

void kv_store(const KvStoreArgs* a) {
  const int64_t slot = a->slot;
  if (a->type == kKvQ8) return store_q8(a);
  if (a->type == kKvF32) {
    float* k = reinterpret_cast<float*>(a->k_tile) + slot;
    for (int64_t d = 0; d < a->dk; ++d) k[d * kPageTokens] = a->k[d];
    float* v = reinterpret_cast<float*>(a->v_tile) + slot * a->dv;
    for (int64_t d = 0; d < a->dv; ++d) v[d] = a->v[d];
    return;
  }
  const int32_t type = a->type == kKvQ4 ? static_cast<int32_t>(kKvF16) : a->type;
  uint16_t* k = reinterpret_cast<uint16_t*>(a->k_tile) + slot;
  uint16_t* v = reinterpret_cast<uint16_t*>(a->v_tile) + slot * a->dv;
  uint16_t block[16];
  for (int64_t d = 0; d < a->dk; d += 16) {
    const int64_t count = smaller(16, a->dk - d);
    narrow(type, load_n(a->k + d, count), block);
    for (int64_t i = 0; i < count; ++i) k[(d + i) * kPageTokens] = block[i];
  }
  if (a->type == kKvQ4) return store_q4_values(a);
  for (int64_t d = 0; d < a->dv; d += 16) {
    const int64_t count = smaller(16, a->dv - d);
    narrow(type, load_n(a->v + d, count), block);
    for (int64_t i = 0; i < count; ++i) v[d + i] = block[i];
  }
}

}  // namespace
}  // namespace ingle::kernels
