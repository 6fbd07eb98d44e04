// Exponential and logarithm of our own: plain double arithmetic in a fixed order, so that the same logits
// give the same tokens on every machine and C library.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace ingle::sampling {

constexpr double kLn2High = 0x1.62e42fee00000p-1;  // Cody and Waite's split: n * high is exact for |n| < 2^20
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// e^x for x in [-708, 0], to about one unit in the last place; a loop over it becomes vectors.
inline double exp_in_range(double x) {
  constexpr double kLog2e = 0x1.71547652b82fep+0;
  constexpr double kRound = 0x1.8p52;  // adding it rounds to an integer, which then stands in the low bits
  const double shifted = x * kLog2e + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;  // |r| <= ln 2 / 2
  // Taylor, even and odd powers apart; the first term left out, r^14 / 14!, is below 2^-57.
  const double q = r * r;
  const double odd =
      1.0 + q * (1.0 / 6 +
                 q * (1.0 / 120 +
                      q * (1.0 / 5040 + q * (1.0 / 362880 + q * (1.0 / 39916800 + q * (1.0 / 6227020800))))));
  const double even =
      0.5 +
      q * (1.0 / 24 + q * (1.0 / 720 + q * (1.0 / 40320 + q * (1.0 / 3628800 + q * (1.0 / 479001600)))));
  const double scale = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);  // 2^n
  return (1.0 + (r * odd + q * even)) * scale;
}
// For any x <= 0, -inf included. Never below e^-708, which no sum with a 1 in it notices.
inline double exp_nonpositive(double x) {
  constexpr double kLowest = -708.0;
  return exp_in_range(x > kLowest ? x : kLowest);
}

// The same in floats, to two units in the last place, for sums over a whole vocabulary: for x in [-87, 0].
// In place; F is float or a vector of them, and U as many uint32_t.
template <class F, class U>
__attribute__((always_inline)) inline void exp_in_range_of(F& x) {
  constexpr float kLog2e = 0x1.715476p+0f;
  constexpr float kHigh = 0x1.62e400p-1f,
                  kLow = 0x1.7f7d1cp-20f;  // of ln 2: n * kHigh is exact for |n| < 2^9
  constexpr float kRound = 0x1.8p23f;
  const F shifted = x * kLog2e + kRound;
  const F n = shifted - kRound;
  const F r = (x - n * kHigh) - n * kLow;
  // Taylor; the first term left out, r^8 / 8!, is below 2^-27.
  const F tail =
      0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040)))));
  const F scale = __builtin_bit_cast(F, (__builtin_bit_cast(U, shifted) + 127u) << 23);  // 2^n
  x = (1.0f + (r + r * r * tail)) * scale;
}
inline float exp_in_range(float x) {
  exp_in_range_of<float, uint32_t>(x);
  return x;
}
constexpr size_t kExpBlock = 128;  // values at a time, in loops that keep the vectors fed

// ln x for finite x > 0 in the normal range.
inline double log_positive(double x) {
  constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  const auto bits = std::bit_cast<uint64_t>(x);
  int64_t e = static_cast<int64_t>(bits >> 52) - 1022;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3fe0000000000000u);  // [1/2, 1)
  if (m < kSqrtHalf) {
    m *= 2;
    --e;
  }
  // ln m = 2 artanh(s), |s| <= 0.1716; the first term left out is below 2^-60 of the sum.
  const double s = (m - 1.0) / (m + 1.0), s2 = s * s;
  double p = 1.0 / 23.0;
  for (const double c : {1.0 / 21.0, 1.0 / 19.0, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0,
                         1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0})
    p = p * s2 + c;
  const auto n = static_cast<double>(e);
  return n * kLn2High + (2.0 * s * p + n * kLn2Low);
}

// e^x for x <= 0 in units of 2^-42, rounded. Sums of integers do not depend on their order, which makes every
// cumulative decision (top-p, typical, the draw) exact whether the candidates were sorted or not. A token
// less likely than 2^-43 of the likeliest counts as impossible. kMaxVocab of them stay below 2^63.
constexpr double kWeightOne = 0x1p42;
inline uint64_t to_weight(double exp_x) {  // by way of int64_t, which is one instruction
  return static_cast<uint64_t>(static_cast<int64_t>(exp_x * kWeightOne + 0.5));
}
inline uint64_t weight(double x) { return to_weight(exp_nonpositive(x)); }

// Finite in, finite out: sums and quotients of extreme logits stop at the largest float.
inline float to_finite(double x) {
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(x > kMax ? kMax : x < -kMax ? -kMax : x);
}

}  // namespace ingle::sampling
