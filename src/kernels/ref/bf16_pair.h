// One step of the bf16 chain in plain C++: what vdpbf16ps does in a lane. Two fused multiply-adds, the odd
// element of the pair first; subnormal inputs and results are zeros of their sign, whatever the host's
// rounding mode says.
#pragma once
#include <bit>
#include <cstdint>

namespace ingle::kernels {

inline float flushed(float x) {
  const auto u = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((u & 0x7f800000u) == 0 ? u & 0x80000000u : u);
}

// A result counts as subnormal by what it rounds to with an exponent of any size. The exact value is a double
// here: a product of bf16 has 16 bits, and next to 2^-126 the accumulator has no bit below 2^-149.
inline float bf16_fma(float w, float x, float acc) {
  const float y = __builtin_fmaf(w, x, acc);
  const uint32_t magnitude = std::bit_cast<uint32_t>(y) & 0x7fffffffu;
  if (magnitude > 0x00800000u) return y;
  const double exact = static_cast<double>(w) * x + static_cast<double>(acc);
  const bool tiny = exact < 0x1p-126 * (1 - 0x1p-25) && exact > -0x1p-126 * (1 - 0x1p-25);
  return tiny ? std::bit_cast<float>(std::bit_cast<uint32_t>(y) & 0x80000000u) : y;
}

// `w` and `x` are pairs of bf16, the element of the lower k in the lower half.
inline float bf16_pair_fma(uint32_t w, uint32_t x, float acc) {
  const auto high = [](uint32_t v) { return flushed(std::bit_cast<float>(v & 0xffff0000u)); };
  acc = bf16_fma(high(w), high(x), acc);
  return bf16_fma(high(w << 16), high(x << 16), acc);
}

}  // namespace ingle::kernels
