#include <algorithm>

#include "sampling/edit.h"
#include "sampling/math.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// "Don't repeat yourself" (p-e-w, oobabooga/text-generation-webui pull request 5677, 2024): an id that would
// lengthen a repetition of the last tokens loses multiplier * base^(length - allowed). Breakers end a
// repetition and are not penalised.
class DryStage final : public EditStage {
 public:
  DryStage(const Dry& dry, std::span<const int32_t> breakers)
      : dry_(dry), breakers_(breakers.begin(), breakers.end()) {
    std::sort(breakers_.begin(), breakers_.end());
  }
  std::string_view name() const override { return "dry"; }
  void accept(int32_t id) override { history_.push_back(id); }
  void rollback(int32_t n) override {
    history_.resize(history_.size() - std::min(history_.size(), static_cast<size_t>(std::max(n, 0))));
  }
  StagePtr clone() const override { return std::make_unique<DryStage>(*this); }

 private:
  bool breaks(int32_t id) const { return std::binary_search(breakers_.begin(), breakers_.end(), id); }

  std::span<const int32_t> ids() override {
    ids_.clear();
    lengths_.clear();
    found_.clear();
    std::span<const int32_t> h = history_;
    if (dry_.last_n >= 0) h = h.last(std::min(h.size(), static_cast<size_t>(dry_.last_n)));
    size_t limit = 0;  // how much of the end holds no breaker
    while (limit < h.size() && !breaks(h[h.size() - 1 - limit])) ++limit;
    if (h.size() < 2 || limit == 0) return ids_;
    measure(h);
    for (size_t back = 1; back < h.size(); ++back) {
      const size_t length = std::min(common_[back], limit);
      const int32_t next = h[h.size() - back];  // what followed that place
      if (length > 0 && length >= static_cast<size_t>(dry_.allowed_length) && !breaks(next))
        found_.push_back({next, length});
    }
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return a.id != b.id ? a.id < b.id : a.length > b.length;
    });
    for (const Found& f : found_) {
      if (!ids_.empty() && ids_.back() == f.id) continue;  // the longest stands first
      ids_.push_back(f.id);
      lengths_.push_back(f.length);
    }
    return ids_;
  }

  // common_[back]: how many of the last tokens stand also `back` tokens earlier (Z algorithm over the
  // reversed text: linear, whatever it repeats).
  void measure(std::span<const int32_t> h) {
    const size_t n = h.size();
    const auto at = [&](size_t i) { return h[n - 1 - i]; };
    if (common_.size() < n) common_.resize(2 * n);  // seldom, however the text grows
    size_t left = 0, right = 0;
    for (size_t i = 1; i < n; ++i) {
      size_t z = i < right ? std::min(right - i, common_[i - left]) : 0;
      while (i + z < n && at(z) == at(i + z)) ++z;
      common_[i] = z;
      if (i + z > right) left = i, right = i + z;
    }
  }

  float edited(size_t index, float logit) const override {
    double penalty = dry_.multiplier, factor = dry_.base;
    for (size_t e = lengths_[index] - static_cast<size_t>(dry_.allowed_length); e > 0;
         e /= 2, factor *= factor) {
      if (e % 2 == 1) penalty *= factor;
      if (penalty > 1e300) break;
    }
    return to_finite(logit - std::min(penalty, 1e300));
  }

  struct Found {
    int32_t id;
    size_t length;
  };
  Dry dry_;
  std::vector<int32_t> breakers_, history_, ids_;
  std::vector<size_t> lengths_, common_;
  std::vector<Found> found_;
};

}  // namespace

StagePtr make_dry(const Dry& dry, std::span<const int32_t> breakers) {
  return std::make_unique<DryStage>(dry, breakers);
}

}  // namespace ingle::sampling
