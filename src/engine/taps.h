// What looks into the steps of one sequence: rows of the plan's points, and of logits, for every token that
// is computed. They are copies: looking changes nothing.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "backends/backend.h"

namespace ingle::engine {

class Taps {
 public:
  static constexpr int32_t kLogits = -1;
  // Rows of tokens that were computed but are not part of the sequence yet, by token, then in the order of
  // the points; false ends the feed (Code::cancelled), which then leaves no trace.
  using Hear =
      std::function<bool(int32_t point, int64_t position, int32_t token, std::span<const float> values)>;

  // Ascending points of the plan, and the logits.
  Taps(std::vector<size_t> points, bool logits, Hear hear)
      : points_(std::move(points)), logits_(logits), hear_(std::move(hear)), rows_(points_.size()) {}
  bool logits() const { return logits_; }
  // What to ask of a step of n tokens.
  std::span<const backends::PointRows> ask(const backends::Plan& plan, int64_t n);
  // After it. `logits` has a row for each token where they are wanted.
  void tell(const backends::Plan& plan, int64_t start, std::span<const int32_t> tokens,
            std::span<const float> logits) const;

 private:
  std::vector<size_t> points_;
  bool logits_;
  Hear hear_;
  std::vector<std::vector<float>> rows_;  // of each point
  std::vector<backends::PointRows> asked_;
};

}  // namespace ingle::engine
