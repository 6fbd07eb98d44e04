#include "sampling/row_loops.h"

#include <cstdint>
#include <limits>

#include "sampling/math.h"

namespace ingle::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowest = -87.0f;  // e^-87 adds nothing to a sum with a 1 in it
constexpr size_t kLanes = 16;      // independent chains
constexpr size_t kBlock = 128;     // values that are summed in floats

// The 16 chains in registers of so many floats.
template <class F, class W>
struct Lanes {
  using Floats = F;
  using Words = W;
  static constexpr size_t kEach = sizeof(F) / 4, kParts = kLanes / kEach;
};
using Floats4 = float __attribute__((vector_size(16)));
using Words4 = uint32_t __attribute__((vector_size(16)));
using Floats8 = float __attribute__((vector_size(32)));
using Words8 = uint32_t __attribute__((vector_size(32)));
using Fours = Lanes<Floats4, Words4>;
using Eights = Lanes<Floats8, Words8>;

#define INGLE_BODY inline __attribute__((always_inline))
#define INGLE_EACH_PART _Pragma("GCC unroll 8") for (size_t p = 0; p < L::kParts; ++p)

template <class L>
INGLE_BODY float max_body(const float* row, size_t n, bool& bad) {
  using Floats = typename L::Floats;
  using Words = typename L::Words;
  Floats best[L::kParts];
  Words wrong[L::kParts];
  INGLE_EACH_PART best[p] = Floats{} - kInfinity, wrong[p] = Words{};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) INGLE_EACH_PART {
      Floats x;
      __builtin_memcpy(&x, row + i + p * L::kEach, sizeof x);
      wrong[p] |= __builtin_bit_cast(Words, !(x < kInfinity));  // also true for a NaN
      best[p] = x > best[p] ? x : best[p];
    }
  float most = -kInfinity;
  uint32_t any = 0;
  for (; i < n; ++i) {
    any |= static_cast<uint32_t>(!(row[i] < kInfinity));
    most = row[i] > most ? row[i] : most;
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    any |= wrong[lane / L::kEach][lane % L::kEach];
    const float x = best[lane / L::kEach][lane % L::kEach];
    most = x > most ? x : most;
  }
  bad = any != 0;
  return most;
}

template <class L>
INGLE_BODY size_t find_body(const float* row, size_t n, float value) {
  constexpr size_t kAtOnce = 4 * kLanes;
  size_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce) {
    typename L::Words same = {};
#pragma GCC unroll 16
    for (size_t at = 0; at < kAtOnce; at += L::kEach) {
      typename L::Floats x;
      __builtin_memcpy(&x, row + i + at, sizeof x);
      same |= __builtin_bit_cast(typename L::Words, x == value);
    }
    uint32_t any = 0;
    for (size_t lane = 0; lane < L::kEach; ++lane) any |= same[lane];
    if (any != 0) break;
  }
  while (i < n && row[i] != value) ++i;
  return i;
}

// A whole block's values; halves are added until one is left.
template <class L>
INGLE_BODY float sum_of_block(const float* row, float max) {
  using Floats = typename L::Floats;
  const Floats lowest = Floats{} + kLowest;
  Floats all[L::kParts];
  INGLE_EACH_PART all[p] = Floats{};
  for (size_t i = 0; i < kBlock; i += kLanes) INGLE_EACH_PART {
      Floats x;
      __builtin_memcpy(&x, row + i + p * L::kEach, sizeof x);
      x -= max;
      x = x > lowest ? x : lowest;
      exp_in_range_of<Floats, typename L::Words>(x);
      all[p] += x;
    }
  float sums[kLanes];
  __builtin_memcpy(sums, all, sizeof sums);
  for (size_t width = kLanes / 2; width > 0; width /= 2)
    for (size_t k = 0; k < width; ++k) sums[k] += sums[k + width];
  return sums[0];
}

// In floats, 16 chains a block, and the blocks' sums in doubles; what is less than a block one by one.
template <class L>
INGLE_BODY double sum_body(const float* row, size_t n, float max) {
  double total = 0;
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) total += sum_of_block<L>(row + i, max);
  for (; i < n; ++i) {
    const float x = row[i] - max;
    total += exp_in_range(x > kLowest ? x : kLowest);
  }
  return total;
}

float max_plain(const float* row, size_t n, bool& bad) { return max_body<Fours>(row, n, bad); }
double sum_plain(const float* row, size_t n, float max) { return sum_body<Fours>(row, n, max); }
size_t find_plain(const float* row, size_t n, float value) { return find_body<Fours>(row, n, value); }

#ifdef __x86_64__
#define INGLE_AVX2 __attribute__((target("avx2")))
INGLE_AVX2 float max_avx2(const float* row, size_t n, bool& bad) { return max_body<Eights>(row, n, bad); }
INGLE_AVX2 double sum_avx2(const float* row, size_t n, float max) { return sum_body<Eights>(row, n, max); }
INGLE_AVX2 size_t find_avx2(const float* row, size_t n, float value) {
  return find_body<Eights>(row, n, value);
}
#endif

}  // namespace

RowLoops plain_row_loops() { return {max_plain, find_plain, sum_plain}; }

RowLoops row_loops() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return {max_avx2, find_avx2, sum_avx2};
#endif
  return plain_row_loops();
}

}  // namespace ingle::sampling
