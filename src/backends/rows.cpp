#include "backends/rows.h"

#include <bit>
#include <cmath>

namespace ingle::backends {

void BatchRows::reserve(int64_t max_tokens, int64_t max_wanted) {
  rows.reserve(static_cast<size_t>(max_tokens));
  wanted.reserve(static_cast<size_t>(max_wanted));
}

void BatchRows::fill(const Batch& batch) {
  rows.clear();
  wanted.clear();
  for (size_t s = 0; s < batch.slices.size(); ++s) {
    const Slice& slice = batch.slices[s];
    const auto n = static_cast<int64_t>(slice.tokens.size());
    for (int64_t i = 0; i < n; ++i) {
      if (i >= n - slice.n_wanted) wanted.push_back(static_cast<int32_t>(rows.size()));
      rows.push_back({static_cast<int32_t>(s), slice.tokens[static_cast<size_t>(i)], slice.start + i});
    }
  }
}

std::span<const double> frequencies(const PlanRotation& rotation, const Slice& slice,
                                    std::vector<double>& scratch) {
  const int64_t end =
      slice.pass_end > 0 ? slice.pass_end : slice.start + static_cast<int64_t>(slice.tokens.size());
  if (rotation.trained == 0 || end <= rotation.trained) return rotation.inverse_frequency;
  if (!rotation.when_long.empty()) return rotation.when_long;
  const size_t n = rotation.inverse_frequency.size();
  const double width = 2 * static_cast<double>(n);
  const double longer = static_cast<double>(end) / static_cast<double>(rotation.trained);
  const double base = rotation.theta *
                      std::pow(rotation.ntk_factor * longer - (rotation.ntk_factor - 1), width / (width - 2));
  scratch.resize(n);
  for (size_t i = 0; i < n; ++i) scratch[i] = std::pow(base, -2.0 * static_cast<double>(i) / width);
  return scratch;
}

void check_logits(const Batch& batch, int64_t n_vocab) noexcept {
  int64_t r = 0;
  for (size_t s = 0; s < batch.slices.size(); ++s) {
    uint32_t carried = 0;  // into the sign's place, out of an exponent of ones
    for (int64_t end = r + batch.slices[s].n_wanted; r < end; ++r) {
      const float* row = batch.logits_row(r, n_vocab);
      for (int64_t i = 0; i < n_vocab; ++i)
        carried |= (std::bit_cast<uint32_t>(row[i]) & 0x7F800000u) + 0x00800000u;
    }
    batch.status[s] = carried < 0x80000000u ? StepStatus::ok : StepStatus::numeric;
  }
}

}  // namespace ingle::backends
