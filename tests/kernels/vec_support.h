// What the tests of the elementwise and attention rows share.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/cpu.h"
#include "ingle/error.hpp"
#include "kernels/vec.h"
#include "support/catch.h"

namespace vec_test {

using ingle::kernels::VecRow;

// The rows that this machine can run, the plain one (the oracle of bits) first.
inline std::vector<const VecRow*> rows() {
  static const std::vector<const VecRow*> kRows = [] {
    std::vector<const VecRow*> found;
    const ingle::CpuFeatures cpu = ingle::detect_cpu();
    for (const VecRow* row : ingle::kernels::all_vec_rows()) {
      try {
        found.insert(found.begin(), &ingle::kernels::select_vec(cpu, row->isa));
      } catch (const ingle::Error&) {
        WARN("skipped: this machine cannot run " << row->isa);
      }
    }
    return found;
  }();
  return kRows;
}

// A small generator, so that every machine sees the same values.
struct Source {
  uint64_t state;
  explicit Source(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  uint32_t next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<uint32_t>(state >> 33);
  }
  float uniform(float low, float high) {
    return low + (high - low) * (static_cast<float>(next() >> 7) / 16777216.0f);
  }
  std::vector<float> many(int64_t n, float low, float high) {
    std::vector<float> v(static_cast<size_t>(n));
    for (float& x : v) x = uniform(low, high);
    return v;
  }
};

// Bit for bit, but any NaN equals any NaN.
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::memcmp(&a[i], &b[i], 4) != 0) return false;
  }
  return true;
}

// Largest |got - want| / max(1, |want|).
inline double worst_error(const std::vector<float>& got, const std::vector<double>& want) {
  double worst = got.size() == want.size() ? 0.0 : 1e30;
  for (size_t i = 0; i < got.size() && i < want.size(); ++i) {
    const double error = std::abs(got[i] - want[i]) / std::max(1.0, std::abs(want[i]));
    worst = std::isnan(error) ? 1e30 : std::max(worst, error);
  }
  return worst;
}

constexpr int64_t kSizes[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 255, 576};

}  // namespace vec_test
