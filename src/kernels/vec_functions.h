// exp, tanh and the activations over 16 lanes, from add, multiply, fma and integer steps alone, so that every
// instruction set gives the same bits. A unit includes one of the vec_lanes headers before this. Polynomials
// are minimax fits made for this file (Remez exchange in 40 digits); errors are stated where they matter.
#pragma once
#include "kernels/isa.h"

namespace ingle::kernels {
namespace {

INGLE_LANE V negate(V x) { return from_bits(iadd(bits(x), iset1(INT32_MIN))); }  // flips the sign bit
INGLE_LANE V absolute(V x) { return from_bits(iand(bits(x), iset1(INT32_MAX))); }

// e^x for x <= 88.7 within 2 units in the last place; 0 below -87, infinity above 88.37; NaN stays NaN.
// x = n ln 2 + r, e^r = 1 + r + r^2 Q(r). The added constant leaves n + 127 in the low bits of the sum.
INGLE_LANE V exp_bounded(V x) {
  const V magic = set1(12582912.0f + 127.0f);
  const V shifted = fma(x, set1(1.44269504f), magic);
  const V n = sub(shifted, magic);
  V r = fma(n, set1(-0x1.62e430p-1f), x);
  r = fma(n, set1(0x1.05c610p-29f), r);
  V q = fma(set1(0x1.6a2258p-10f), r, set1(0x1.123b02p-7f));
  q = fma(q, r, set1(0x1.5558f8p-5f));
  q = fma(q, r, set1(0x1.555490p-3f));
  q = fma(q, r, set1(0x1.fffffcp-2f));
  q = fma(q, r, set1(1.0f));
  q = fma(q, r, set1(1.0f));
  const V power = from_bits(shift_left<23>(bits(shifted)));
  return select(less(x, set1(-87.0f)), zero(), mul(q, power));
}

INGLE_LANE V exp_lanes(V x) { return exp_bounded(min_of(set1(88.7f), x)); }

// tanh x: a polynomial below 0.625, else 1 - 2 / (e^2|x| + 1) with the sign put back.
INGLE_LANE V tanh_lanes(V x) {
  const V a = absolute(x);
  const V y = mul(x, x);
  V p = fma(set1(-0x1.72fc48p-8f), y, set1(0x1.518b16p-6f));
  p = fma(p, y, set1(-0x1.b8265cp-5f));
  p = fma(p, y, set1(0x1.11068ep-3f));
  p = fma(p, y, set1(-0x1.555530p-2f));
  const V small = fma(mul(p, y), x, x);
  const V e = exp_lanes(add(a, a));
  const V large = sub(set1(1.0f), div(set1(2.0f), add(e, set1(1.0f))));
  const V sign = from_bits(iand(bits(x), iset1(INT32_MIN)));
  return select(less(a, set1(0.625f)), small, from_bits(ior(bits(large), bits(sign))));
}

INGLE_LANE V silu_lanes(V x) { return div(x, add(set1(1.0f), exp_lanes(negate(x)))); }

// x / 2 (1 + tanh u) = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3).
INGLE_LANE V gelu_tanh_lanes(V x) {
  const V cubic =
      fma(mul(x, x), set1(0.0713548163f), set1(1.59576912f));  // 2 sqrt(2 / pi) (0.044715 x^2 + 1)
  return div(x, add(set1(1.0f), exp_lanes(negate(mul(x, cubic)))));
}

// x / 2 erfc(-x / sqrt 2), with erfc z = e^-z^2 t P(t), t = 1 / (1 + 0.4 z), for z = |x| / sqrt 2.
INGLE_LANE V gelu_erf_lanes(V x) {
  const V z = mul(absolute(x), set1(0.707106781f));
  const V t = div(set1(1.0f), fma(z, set1(0.4f), set1(1.0f)));
  V p = fma(set1(0x1.51f1d6p-5f), t, set1(-0x1.1f5fa0p-3f));
  p = fma(p, t, set1(0x1.5802c4p-4f));
  p = fma(p, t, set1(0x1.684d9ep-4f));
  p = fma(p, t, set1(0x1.46ae88p-4f));
  p = fma(p, t, set1(0x1.8c11c8p-3f));
  p = fma(p, t, set1(0x1.9d773ap-3f));
  p = fma(p, t, set1(0x1.cfc168p-3f));
  p = fma(p, t, set1(0x1.ce1952p-3f));
  const V tail = mul(mul(mul(p, t), exp_lanes(negate(mul(z, z)))), set1(0.5f));
  return mul(x, select(less(x, zero()), tail, sub(set1(1.0f), tail)));
}

template <int32_t kKind>
INGLE_LANE V activation(V x) {
  if constexpr (kKind == kGluSilu) return silu_lanes(x);
  if constexpr (kKind == kGluGeluTanh) return gelu_tanh_lanes(x);
  if constexpr (kKind == kGluGeluErf) return gelu_erf_lanes(x);
  if constexpr (kKind == kGluSigmoid) return div(set1(1.0f), add(set1(1.0f), exp_lanes(negate(x))));
  const V positive = max_of(zero(), x);  // NaN stays NaN
  return kKind == kGluRelu ? positive : mul(positive, positive);
}

// cap tanh(x / cap)
INGLE_LANE V softcap_lanes(V x, V cap) { return mul(tanh_lanes(div(x, cap)), cap); }

INGLE_LANE I bf16_of(V x) {  // round to nearest even, in the low halves; NaN becomes quiet
  const I u = bits(x);
  const I odd = iand(shift_right<16>(u), iset1(1));
  const I rounded = shift_right<16>(iadd(iadd(u, iset1(0x7FFF)), odd));
  const I quiet = ior(shift_right<16>(u), iset1(0x40));
  return bits(select(is_nan(x), from_bits(quiet), from_bits(rounded)));
}

}  // namespace
}  // namespace ingle::kernels
