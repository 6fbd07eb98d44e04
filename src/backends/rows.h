// The rows of a ragged batch: which slice and position each token has, and which rows' logits are wanted.
#pragma once
#include <cstdint>
#include <vector>

#include "backends/backend.h"

namespace ingle::backends {

struct BatchRow {
  int32_t slice;
  int32_t token;
  int64_t position;
};

// Filled per step without allocating once it has grown to the workspace's size.
struct BatchRows {
  std::vector<BatchRow> rows;
  std::vector<int32_t> wanted;  // indices into rows

  void reserve(int64_t max_tokens, int64_t max_wanted);
  void fill(const Batch& batch);
  int64_t size() const { return static_cast<int64_t>(rows.size()); }
  int64_t n_wanted() const { return static_cast<int64_t>(wanted.size()); }
};

// The frequencies that a rotation has for a slice: a view of the plan, or of `scratch`, which has room for
// them.
std::span<const double> frequencies(const PlanRotation& rotation, const Slice& slice,
                                    std::vector<double>& scratch);

// The first position that a query sees.
inline int64_t first_seen(const op::Attend& o, const kv::PartSpec& part, int64_t position) {
  if (part.window == 0) return 0;
  if (o.chunked) return position / part.window * part.window;
  return position < part.window ? 0 : position - part.window + 1;
}

// Writes each slice's status: numeric when one of its logits is NaN or infinite.
void check_logits(const Batch& batch, int64_t n_vocab) noexcept;

}  // namespace ingle::backends
