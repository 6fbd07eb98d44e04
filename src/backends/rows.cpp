#include "backends/rows.h"

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

void check_logits(const Batch& batch, int64_t n_vocab) noexcept {
  const float* row = batch.logits;
  for (size_t s = 0; s < batch.slices.size(); ++s) {
    bool finite = true;
    for (int64_t end = batch.slices[s].n_wanted * n_vocab, i = 0; i < end; ++i)
      finite &= std::isfinite(*row++);
    batch.status[s] = finite ? StepStatus::ok : StepStatus::numeric;
  }
}

}  // namespace ingle::backends
