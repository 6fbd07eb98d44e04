#include "engine/taps.h"

#include "core/error.h"

namespace ingle::engine {
namespace {

size_t width_of(const backends::Plan& plan, size_t point) {
  return static_cast<size_t>(plan.buffers[static_cast<size_t>(plan.points[point].buffer)].width);
}

}  // namespace

std::span<const backends::PointRows> Taps::ask(const backends::Plan& plan, int64_t n) {
  asked_.clear();
  for (size_t i = 0; i < points_.size(); ++i) {
    rows_[i].resize(static_cast<size_t>(n) * width_of(plan, points_[i]));
    asked_.push_back({points_[i], rows_[i].data()});
  }
  return asked_;
}

void Taps::tell(const backends::Plan& plan, int64_t start, std::span<const int32_t> tokens,
                std::span<const float> logits) const {
  const auto n_vocab = static_cast<size_t>(plan.n_vocab);
  for (size_t r = 0; r < tokens.size(); ++r) {
    const auto tell_one = [&](int32_t point, std::span<const float> values) {
      if (!hear_(point, start + static_cast<int64_t>(r), tokens[r], values))
        fail(Code::cancelled, "feed", "cancelled by a tap");
    };
    for (size_t i = 0; i < points_.size(); ++i) {
      const size_t width = width_of(plan, points_[i]);
      tell_one(static_cast<int32_t>(points_[i]), std::span(rows_[i]).subspan(r * width, width));
    }
    if (logits_) tell_one(kLogits, logits.subspan(r * n_vocab, n_vocab));
  }
}

}  // namespace ingle::engine
