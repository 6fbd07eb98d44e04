// The elementwise and row operations, written once over the 16 lanes of the unit that includes them.
// Every reduction gives lane l the elements l, l + 16, …, a short tail counts as zeros, and the lanes are
// added in one fixed tree: the bits do not depend on the instruction set.
#pragma once
#include "kernels/isa.h"
#include "kernels/vec_functions.h"
#include "kernels/vec_loops.h"

namespace ingle::kernels {
namespace {

// Blocks whose largest magnitude is below 2^-100 become zeros: 127 / amax stays finite. A NaN or infinity
// goes into d (compared as integers, NaN is the largest), so that it is not lost in the integers.
void quantize_q8(const float* x, int64_t k, int8_t* q, float* d, int32_t* sum16) {
  const I magnitude = iset1(INT32_MAX);
  for (int64_t b = 0; b < k / 32; ++b, x += 32, q += 32) {
    const V x0 = load(x), x1 = load(x + 16);
    const int32_t top = ireduce_max(imax(iand(bits(x0), magnitude), iand(bits(x1), magnitude)));
    float amax;
    __builtin_memcpy(&amax, &top, 4);
    const bool usable = top >= 0x0D800000 && top < 0x7F800000;
    const V inverse = set1(usable ? 127.0f / amax : 0.0f);
    const I q0 = usable ? to_int(mul(x0, inverse)) : iset1(0);
    const I q1 = usable ? to_int(mul(x1, inverse)) : iset1(0);
    store_i8(q, q0);
    store_i8(q + 16, q1);
    d[b] = top < 0x0D800000 ? 0.0f : amax / 127.0f;
    sum16[2 * b] = ireduce_add(q0);
    sum16[2 * b + 1] = ireduce_add(q1);
  }
}

// 1 / sqrt(total / n + eps) in every lane
INGLE_LANE V inverse_root(float total, int64_t n, float eps) {
  const V mean = div(set1(total), set1(static_cast<float>(n)));
  return div(set1(1.0f), sqrt_lanes(add(mean, set1(eps))));
}

void rms_norm(const float* x, const float* w, float* y, int64_t n, float eps) {
  V squares = zero();
  for_lanes(n, [&](int64_t i, int64_t count) {
    const V v = get(x + i, count);
    squares = fma(v, v, squares);
  });
  const V r = inverse_root(reduce_add(squares), n, eps);
  for_lanes(n, [&](int64_t i, int64_t count) {
    V v = mul(get(x + i, count), r);
    if (w) v = mul(v, get(w + i, count));
    put(y + i, v, count);
  });
}

void layer_norm(const float* x, const float* w, const float* b, float* y, int64_t n, float eps) {
  V total = zero();
  for_lanes(n, [&](int64_t i, int64_t count) { total = add(total, get(x + i, count)); });
  const V mean = div(set1(reduce_add(total)), set1(static_cast<float>(n)));
  V squares = zero();
  for_lanes(n, [&](int64_t i, int64_t count) {
    V v = sub(get(x + i, count), mean);
    if (count < 16) v = select(lanes_between(0, count - 1), v, zero());
    squares = fma(v, v, squares);
  });
  const V r = inverse_root(reduce_add(squares), n, eps);
  for_lanes(n, [&](int64_t i, int64_t count) {
    V v = mul(sub(get(x + i, count), mean), r);
    if (w) v = mul(v, get(w + i, count));
    if (b) v = add(v, get(b + i, count));
    put(y + i, v, count);
  });
}

void rope(float* x, int64_t n_heads, int64_t head_stride, int64_t half, const float* c, const float* s) {
  for (int64_t h = 0; h < n_heads; ++h, x += head_stride) {
    for_lanes(half, [&](int64_t i, int64_t count) {
      const V x0 = get(x + i, count), x1 = get(x + half + i, count);
      const V co = get(c + i, count), si = get(s + i, count);
      put(x + i, fma(x0, co, negate(mul(x1, si))), count);
      put(x + half + i, fma(x1, co, mul(x0, si)), count);
    });
  }
}

template <int32_t kKind>
void glu_of(const float* gate, const float* up, float* y, int64_t n) {
  for_lanes(n, [&](int64_t i, int64_t count) {
    put(y + i, mul(activation<kKind>(get(gate + i, count)), get(up + i, count)), count);
  });
}
void glu(int32_t kind, const float* gate, const float* up, float* y, int64_t n) {
  switch (kind) {
    case kGluSilu:
      return glu_of<kGluSilu>(gate, up, y, n);
    case kGluGeluTanh:
      return glu_of<kGluGeluTanh>(gate, up, y, n);
    case kGluGeluErf:
      return glu_of<kGluGeluErf>(gate, up, y, n);
    case kGluRelu:
      return glu_of<kGluRelu>(gate, up, y, n);
    case kGluSigmoid:
      return glu_of<kGluSigmoid>(gate, up, y, n);
    default:
      return glu_of<kGluRelu2>(gate, up, y, n);
  }
}

template <int32_t kKind>
void activate_of(const float* x, float* y, int64_t n) {
  for_lanes(n, [&](int64_t i, int64_t count) { put(y + i, activation<kKind>(get(x + i, count)), count); });
}
void activate(int32_t kind, const float* x, float* y, int64_t n) {
  switch (kind) {
    case kGluSilu:
      return activate_of<kGluSilu>(x, y, n);
    case kGluGeluTanh:
      return activate_of<kGluGeluTanh>(x, y, n);
    case kGluGeluErf:
      return activate_of<kGluGeluErf>(x, y, n);
    case kGluRelu:
      return activate_of<kGluRelu>(x, y, n);
    case kGluSigmoid:
      return activate_of<kGluSigmoid>(x, y, n);
    default:
      return activate_of<kGluRelu2>(x, y, n);
  }
}

void add_rows(const float* a, const float* b, float* y, int64_t n) {
  for_lanes(n,
            [&](int64_t i, int64_t count) { put(y + i, add(get(a + i, count), get(b + i, count)), count); });
}
void scale_row(const float* x, float factor, float* y, int64_t n) {
  const V f = set1(factor);
  for_lanes(n, [&](int64_t i, int64_t count) { put(y + i, mul(get(x + i, count), f), count); });
}
void softcap_row(const float* x, float cap, float* y, int64_t n) {
  const V c = set1(cap);
  for_lanes(n, [&](int64_t i, int64_t count) { put(y + i, softcap_lanes(get(x + i, count), c), count); });
}

// NaN counts as the lowest; 0 when nothing else is there.
int64_t argmax(const float* x, int64_t n) {
  const V lowest = set1(-__builtin_inff());
  V top = lowest;
  for_lanes(n, [&](int64_t i, int64_t count) {
    V v = get(x + i, count);
    v = select(is_nan(v), lowest, v);
    if (count < 16) v = select(lanes_between(0, count - 1), v, lowest);
    top = max_of(v, top);
  });
  const V best = set1(reduce_max(top));
  for (int64_t i = 0; i < n; i += 16) {
    const int64_t count = n - i < 16 ? n - i : 16;
    const uint32_t hit = mask_bits(equal(get(x + i, count), best)) & ((1U << count) - 1U);
    if (hit) return i + __builtin_ctz(hit);
  }
  return 0;
}

int32_t all_finite(const float* x, int64_t n) {
  I top = iset1(0);
  for_lanes(
      n, [&](int64_t i, int64_t count) { top = imax(top, iand(bits(get(x + i, count)), iset1(INT32_MAX))); });
  return ireduce_max(top) < 0x7F800000 ? 1 : 0;
}

void f16_to_f32(const uint16_t* x, float* y, int64_t n) {
  for_lanes(n, [&](int64_t i, int64_t count) {
    put(y + i, count == 16 ? load_f16(x + i) : load_f16_n(x + i, count), count);
  });
}
void f32_to_f16(const float* x, uint16_t* y, int64_t n) {
  for_lanes(n, [&](int64_t i, int64_t count) {
    if (count == 16) {
      store_f16(y + i, load(x + i));
    } else {
      store_f16_n(y + i, load_n(x + i, count), count);
    }
  });
}

}  // namespace
}  // namespace ingle::kernels
