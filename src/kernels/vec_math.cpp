// Scalar mathematics without libm. Sums are taken in the written order and never fused (-ffp-contract=off),
// so every machine gives the same bits.
#include <bit>
#include <limits>

#include "kernels/vec.h"

namespace ingle::kernels {
namespace {

constexpr double kToInteger = 0x1.8p52;  // x + this - this is x rounded to an integer, for |x| < 2^51
double round_even(double x) { return x + kToInteger - kToInteger; }

constexpr double kLn2High = 0x1.62e42fefp-1;  // 33 bits: its products with exponents are exact
constexpr double kLn2Low = 0x1.473de6af278edp-34;

double power_of_two(int64_t n) { return std::bit_cast<double>(static_cast<uint64_t>(n + 1023) << 52); }

// sum of c[i] x^i
template <size_t N>
double polynomial(const double (&c)[N], double x) {
  double sum = c[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

struct SinCos {
  double sin, cos;
};

// pi / 2 in pieces of 33 bits, so that their products with a quadrant below 2^20 are exact.
constexpr double kHalfPi1 = 0x1.921fb544p+0;
constexpr double kHalfPi2 = 0x1.0b4611a6p-34;
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;

// Taylor series on [-pi/4, pi/4] after the quadrant is taken off: the absolute error stays near 1e-16 for |x|
// up to 2^20 and grows with |x| beyond.
SinCos sin_cos(double x) {
  static constexpr double kSin[] = {1.0,
                                    -1.0 / 6,
                                    1.0 / 120,
                                    -1.0 / 5040,
                                    1.0 / 362880,
                                    -1.0 / 39916800,
                                    1.0 / 6227020800,
                                    -1.0 / 1307674368000,
                                    1.0 / 355687428096000};
  static constexpr double kCos[] = {1.0,
                                    -1.0 / 2,
                                    1.0 / 24,
                                    -1.0 / 720,
                                    1.0 / 40320,
                                    -1.0 / 3628800,
                                    1.0 / 479001600,
                                    -1.0 / 87178291200,
                                    1.0 / 20922789888000};
  const double quadrant = round_even(x * 0x1.45f306dc9c883p-1);  // 2 / pi
  const double r = x - quadrant * kHalfPi1 - quadrant * kHalfPi2 - quadrant * kHalfPi3;
  const double square = r * r;
  const double s = r * polynomial(kSin, square), c = polynomial(kCos, square);
  switch (static_cast<int64_t>(quadrant) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

}  // namespace

void rope_angles(int64_t position, const double* inverse_frequency, int64_t n, double magnitude, float* c,
                 float* s) {
  for (int64_t i = 0; i < n; ++i) {
    const SinCos v = sin_cos(static_cast<double>(position) * inverse_frequency[i]);
    c[i] = static_cast<float>(v.cos * magnitude);
    s[i] = static_cast<float>(v.sin * magnitude);
  }
}

// x = n ln 2 + r; the series to r^13 leaves 4e-18.
double exp_double(double x) {
  static constexpr double kExp[] = {1.0,
                                    1.0,
                                    1.0 / 2,
                                    1.0 / 6,
                                    1.0 / 24,
                                    1.0 / 120,
                                    1.0 / 720,
                                    1.0 / 5040,
                                    1.0 / 40320,
                                    1.0 / 362880,
                                    1.0 / 3628800,
                                    1.0 / 39916800,
                                    1.0 / 479001600,
                                    1.0 / 6227020800};
  if (x != x) return x;
  if (x > 709.8) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0.0;
  const double n = round_even(x * 0x1.71547652b82fep+0);
  const double r = x - n * kLn2High - n * kLn2Low;
  const int64_t half = static_cast<int64_t>(n) / 2;  // in two steps: results may be subnormal
  return polynomial(kExp, r) * power_of_two(half) * power_of_two(static_cast<int64_t>(n) - half);
}

// x = 2^n m with m in [sqrt 1/2, sqrt 2); log m = 2 artanh t, t = (m - 1) / (m + 1).
double log_double(double x) {
  static constexpr double kArtanh[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                       1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  if (x != x || x == std::numeric_limits<double>::infinity()) return x;
  if (x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  int64_t n = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    n = -54;
  }
  const uint64_t u = std::bit_cast<uint64_t>(x);
  n += static_cast<int64_t>(u >> 52) - 1023;
  double m = std::bit_cast<double>((u & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (m > 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    ++n;
  }
  const double t = (m - 1.0) / (m + 1.0);
  const double square = t * t;
  const double log_m = 2.0 * t + 2.0 * t * square * polynomial(kArtanh, square);
  return static_cast<double>(n) * kLn2High + (static_cast<double>(n) * kLn2Low + log_m);
}

float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t rest = h & 0x7FFF;
  if (rest > 0x7C00) return std::bit_cast<float>(sign | 0x7FC00000U | rest << 13);
  if (rest == 0x7C00) return std::bit_cast<float>(sign | 0x7F800000U);
  if (rest >= 0x0400) return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000U));
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(rest) * 0x1p-24f));
}

uint16_t float_to_half(float f) {
  uint16_t h;
  all_vec_rows().back()->f32_to_f16(&f, &h, 1);  // the plain row: one rule, written once
  return h;
}

}  // namespace ingle::kernels
