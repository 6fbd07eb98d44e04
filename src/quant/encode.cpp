#include "quant/encode.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "quant/blocks.h"

namespace ingle::quant {
namespace {

// Below this a block counts as zero: the reciprocal of its scale would not be finite.
constexpr float kTiny = 1e-30f;
// Sums run in 8 lanes of fixed order, so that the compiler can use vectors without changing a bit.
constexpr int kLanes = 8;
// Rounds of "codes, then the best scale for them" on the winner of a search; it gains nothing after a few.
constexpr int kRefinements = 4;

float sum_of(const float (&lanes)[kLanes]) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

float rounded(float v, ScaleType type) { return type == ScaleType::f16 ? half_to_float(half_scale(v)) : v; }

// nearest_code as a float. Adding 1.5 * 2^23 leaves no fraction bits: round to nearest even without a library
// call.
inline float code_value(float v, float lo, float hi) {
  v = v > lo ? v : lo;  // NaN too
  v = v < hi ? v : hi;
  return (v + 12582912.0f) - 12582912.0f;
}

struct Sums {  // weighted, over the elements: of 1, code, code^2, x, x * code
  float w = 0, q = 0, qq = 0, x = 0, xq = 0;
};

Sums sums_of(const float* x, const float* w, int n, Affine a, float inv, float lo, float hi) {
  float sw[kLanes] = {}, sq[kLanes] = {}, sqq[kLanes] = {}, sx[kLanes] = {}, sxq[kLanes] = {};
  for (int i = 0; i < n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float q = code_value((x[i + l] - a.min) * inv, lo, hi);
      const float wq = w[i + l] * q, wx = w[i + l] * x[i + l];
      sw[l] += w[i + l];
      sq[l] += wq;
      sqq[l] += wq * q;
      sx[l] += wx;
      sxq[l] += wx * q;
    }
  }
  return {sum_of(sw), sum_of(sq), sum_of(sqq), sum_of(sx), sum_of(sxq)};
}

// Keeps the best of the candidates that it is shown.
class Search {
 public:
  Search(const float* x, const float* w, int n, int lo, int hi, ScaleType type)
      : x_(x), w_(w), n_(n), lo_(lo), hi_(hi), type_(type) {}
  // True when it is the best so far.
  bool offer(Affine a) {
    a = {rounded(a.scale, type_), rounded(a.min, type_)};
    const float error = coding_error(x_, w_, n_, a, lo_, hi_);
    if (!first_ && !(error < error_)) return false;
    first_ = false;
    best_ = a;
    error_ = error;
    return true;
  }
  Affine best() const { return best_; }

 private:
  const float* x_;
  const float* w_;
  int n_, lo_, hi_;
  ScaleType type_;
  bool first_ = true;
  Affine best_;
  float error_ = 0;
};

}  // namespace

// clang-format off
#define INGLE_16_ONES 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
#define INGLE_64_ONES INGLE_16_ONES, INGLE_16_ONES, INGLE_16_ONES, INGLE_16_ONES
// clang-format on
const float kOnes[256] = {INGLE_64_ONES, INGLE_64_ONES, INGLE_64_ONES, INGLE_64_ONES};

void check_encodable(const float* x, int64_t k, int64_t block_elems) {
  if (k < 0 || k % block_elems != 0) {
    fail(Code::invalid_argument, "encode",
         format("a row of {} values does not divide into blocks of {}", k, block_elems));
  }
  for (int64_t i = 0; i < k; ++i) {
    if (!std::isfinite(x[i])) fail(Code::numeric, "encode", format("weight {} of the row is {}", i, x[i]));
  }
}

int nearest_code(float x_minus_min, float inverse_scale, int lo, int hi) {
  return static_cast<int>(
      code_value(x_minus_min * inverse_scale, static_cast<float>(lo), static_cast<float>(hi)));
}

void assign_codes(const float* x, int n, float scale, float min, int lo, int hi, uint8_t* codes) {
  const float inv = inverse(scale);
  for (int i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(nearest_code(x[i] - min, inv, lo, hi) - lo);
}

float coding_error(const float* x, const float* w, int n, Affine a, int lo, int hi) {
  const float inv = inverse(a.scale), first = static_cast<float>(lo), last = static_cast<float>(hi);
  float sum[kLanes] = {};
  for (int i = 0; i < n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float q = code_value((x[i + l] - a.min) * inv, first, last);
      const float e = x[i + l] - (a.scale * q + a.min);
      sum[l] += w[i + l] * (e * e);
    }
  }
  return sum_of(sum);
}

float fit_scale(const float* x, const float* w, int n, int lo, int hi, ScaleType type) {
  float peak = 0;  // the value of largest magnitude, with its sign
  for (int i = 0; i < n; ++i) peak = std::fabs(x[i]) > std::fabs(peak) ? x[i] : peak;
  if (std::fabs(peak) < kTiny) return 0;
  Search search(x, w, n, lo, hi, type);
  // The best scale for the codes that a first guess gives.
  const auto refit = [&](float inv) {
    const Sums s = sums_of(x, w, n, {}, inv, static_cast<float>(lo), static_cast<float>(hi));
    return s.qq > 0 && search.offer({s.xq / s.qq, 0});
  };
  const auto try_around = [&](int end) {
    for (int step = -6; step <= 6; ++step)
      refit((static_cast<float>(end) + 0.15f * static_cast<float>(step)) / peak);
  };
  search.offer({peak / static_cast<float>(lo), 0});
  try_around(lo);
  if (hi != -lo) try_around(hi);
  for (int i = 0; i < kRefinements && refit(inverse(search.best().scale)); ++i) {
  }
  return search.best().scale;
}

Affine fit_affine(const float* x, const float* w, int n, int max_code, ScaleType type,
                  bool min_not_positive) {
  const auto [low, high] = std::minmax_element(x, x + n);
  const float lo = min_not_positive ? std::min(*low, 0.0f) : *low;
  const float range = *high - lo;
  if (!(range >= kTiny)) return {0, rounded(lo, type)};
  const float last = static_cast<float>(max_code);
  Search search(x, w, n, 0, max_code, type);
  // The best scale and min for the codes that a first guess gives.
  const auto refit = [&](float inv, float min) {
    const Sums s = sums_of(x, w, n, {0, min}, inv, 0, last);
    const float determinant = s.w * s.qq - s.q * s.q;
    if (!(determinant > 0)) return false;
    Affine a{(s.w * s.xq - s.x * s.q) / determinant, (s.qq * s.x - s.q * s.xq) / determinant};
    if (min_not_positive && a.min > 0) a = {s.xq / s.qq, 0};
    return a.scale > 0 && search.offer(a);
  };
  search.offer({range / last, lo});
  for (int step = -6; step <= 12; ++step) refit((last + 0.15f * static_cast<float>(step)) / range, lo);
  for (int i = 0; i < kRefinements && refit(inverse(search.best().scale), search.best().min); ++i) {
  }
  return search.best();
}

uint16_t half_scale(float v) { return float_to_half(std::clamp(v, -65504.0f, 65504.0f)); }

}  // namespace ingle::quant
