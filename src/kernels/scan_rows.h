// The recurrent rows, written once over the 16 lanes of the unit that includes them. Lanes are columns of the
// state or channels, each a chain of its own in a fixed order: the bits depend neither on the instruction set
// nor on how a sequence is cut into steps.
#pragma once
#include "kernels/isa_scan.h"
#include "kernels/vec_functions.h"
#include "kernels/vec_loops.h"

namespace ingle::kernels {
namespace {

// kVecs vectors of columns [c, …) over all tokens, so that they stay in the first-level cache.
template <int kVecs>
void scan_columns(const ScanArgs& a, int64_t c, int64_t count) {
  const float* src = a.from ? a.from + c : nullptr;
  float* dst = a.to + c;
  const auto part = [&](const float* p, int j) { return kVecs > 1 ? load(p + 16 * j) : get(p, count); };
  for (int64_t t = 0; t < a.n; ++t) {
    const float *k = a.k + t * a.stride, *q = a.q + t * a.stride, *v = a.v + t * a.stride + c;
    const V g = set1(a.g[t * a.gate_stride]), beta = set1(a.beta[t * a.gate_stride]);
    V fresh[kVecs], out[kVecs];
    for (int j = 0; j < kVecs; ++j) fresh[j] = out[j] = zero();
    if (a.delta && src) {
      for (int64_t i = 0; i < a.dk; ++i) {
        const V ki = set1(k[i]);
        for (int j = 0; j < kVecs; ++j) fresh[j] = fma(part(src + i * a.dv, j), ki, fresh[j]);
      }
    }
    for (int j = 0; j < kVecs; ++j) fresh[j] = mul(fma(negate(g), fresh[j], part(v, j)), beta);
    for (int64_t i = 0; i < a.dk; ++i) {
      const V ki = set1(k[i]), qi = set1(q[i]);
      for (int j = 0; j < kVecs; ++j) {
        const V old = src ? mul(g, part(src + i * a.dv, j)) : zero();
        const V s = fma(ki, fresh[j], old);
        if (kVecs > 1)
          store(dst + i * a.dv + 16 * j, s);
        else
          put(dst + i * a.dv, s, count);
        out[j] = fma(s, qi, out[j]);
      }
    }
    float* y = a.out + t * a.out_stride + c;
    for (int j = 0; j < kVecs; ++j) {
      const V o = fma(set1(a.skip), part(v, j), out[j]);
      if (kVecs > 1)
        store(y + 16 * j, o);
      else
        put(y, o, count);
    }
    src = dst;
  }
}

void scan(const ScanArgs* args) {
  const ScanArgs& a = *args;
  int64_t c = 0;
  for (; c + 32 <= a.dv; c += 32) scan_columns<2>(a, c, 32);
  for (; c < a.dv; c += 16) scan_columns<1>(a, c, a.dv - c < 16 ? a.dv - c : 16);
}

void conv(const ConvArgs* args) {
  const ConvArgs& a = *args;
  const int64_t before = a.taps - 1;
  for_lanes(a.width, [&](int64_t c, int64_t count) {
    // Input t, which lies in the state before the first token.
    const auto input = [&](int64_t t) {
      if (t >= 0) return get(a.in + t * a.stride + c, count);
      return a.from ? get(a.from + (before + t) * a.channels + c, count) : zero();
    };
    const V bias = a.bias ? get(a.bias + c, count) : zero();
    for (int64_t t = 0; t < a.n; ++t) {
      V y = bias;
      for (int64_t j = 0; j < a.taps; ++j)
        y = fma(get(a.w + j * a.channels + c, count), input(t - before + j), y);
      put(a.out + t * a.out_stride + c, a.silu ? silu_lanes(y) : y, count);
    }
    for (int64_t j = 0; j < before; ++j) put(a.to + j * a.channels + c, input(a.n - before + j), count);
  });
}

void selective(const SelectiveArgs* args) {
  const SelectiveArgs& a = *args;
  for_lanes(a.width, [&](int64_t ch, int64_t count) {
    const float* src = a.from ? a.from + ch : nullptr;
    float* dst = a.to + ch;
    for (int64_t t = 0; t < a.n; ++t) {
      const V x = get(a.x + t * a.x_stride + ch, count), dt = get(a.dt + t * a.dt_stride + ch, count);
      const V dx = mul(dt, x);
      const float *b = a.b + t * a.bc_stride, *c = a.c + t * a.bc_stride;
      V y = mul(get(a.skip + ch, count), x);
      for (int64_t i = 0; i < a.n_states; ++i) {
        V s = mul(dx, set1(b[i]));
        if (src) {
          const V decay = exp_lanes(mul(dt, get(a.a + i * a.channels + ch, count)));
          s = fma(decay, get(src + i * a.channels, count), s);
        }
        put(dst + i * a.channels, s, count);
        y = fma(s, set1(c[i]), y);
      }
      put(a.out + t * a.out_stride + ch, y, count);
      src = dst;
    }
  });
}

void unit(float* x, int64_t n, float eps, float scale) {
  V squares = zero();
  for_lanes(n, [&](int64_t i, int64_t count) {
    const V v = get(x + i, count);
    squares = fma(v, v, squares);
  });
  const V r = div(set1(scale), sqrt_lanes(set1(reduce_add(squares) + eps)));
  for_lanes(n, [&](int64_t i, int64_t count) { put(x + i, mul(get(x + i, count), r), count); });
}

// max(x, 0) + log(1 + e^-|x|); with u = e^-|x| in (0, 1], log(1 + u) = 2 artanh(u / (u + 2)), whose series to
// the 13th power leaves 2e-8 at u = 1.
INGLE_LANE V softplus_lanes(V x) {
  const V u = exp_lanes(negate(absolute(x)));
  const V z = div(u, add(u, set1(2.0f)));
  const V y = mul(z, z);
  V p = fma(set1(2.0f / 13), y, set1(2.0f / 11));
  p = fma(p, y, set1(2.0f / 9));
  p = fma(p, y, set1(2.0f / 7));
  p = fma(p, y, set1(2.0f / 5));
  p = fma(p, y, set1(2.0f / 3));
  p = fma(p, y, set1(2.0f));
  return fma(p, z, max_of(zero(), x));
}

void softplus(const float* x, const float* bias, float* y, int64_t n) {
  for_lanes(n, [&](int64_t i, int64_t count) {
    const V v = get(x + i, count);
    put(y + i, softplus_lanes(bias ? add(v, get(bias + i, count)) : v), count);
  });
}

void mul_rows(const float* a, const float* b, float* y, int64_t n) {
  for_lanes(n,
            [&](int64_t i, int64_t count) { put(y + i, mul(get(a + i, count), get(b + i, count)), count); });
}
void add_scaled(const float* x, float factor, float* y, int64_t n) {
  const V f = set1(factor);
  for_lanes(
      n, [&](int64_t i, int64_t count) { put(y + i, fma(get(x + i, count), f, get(y + i, count)), count); });
}

constexpr ScanRow scan_row(const char* isa) {
  return {isa, scan, conv, selective, unit, softplus, mul_rows, add_scaled};
}

}  // namespace
}  // namespace ingle::kernels
