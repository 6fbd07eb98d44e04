#include <algorithm>
#include <cmath>

#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// Ranks candidates by how near their surprise, -ln p, comes to the entropy, and keeps the shortest prefix of
// at least probability p. With d = max logit - logit, surprise is d + ln Z and entropy mean(d) + ln Z, so ln
// Z cancels.
class Typical final : public Stage {
 public:
  Typical(float p, size_t min_keep) : p_(p), min_keep_(min_keep) {}
  std::string_view name() const override { return "typical_p"; }

  void apply(Candidates& c) override {
    if (p_ >= 1.0f || c.list.empty()) return;
    const double max = c.max_logit();
    const uint64_t total = weigh(c, scratch_);
    const double mean = mean_depth(scratch_, max);
    const auto key = [mean](double d) { return -std::fabs(d - mean); };
    for (Weighted& w : scratch_) w.key = key(max - w.key);
    Weighted last = reach(scratch_, share_of(p_, total) - 1);
    const auto ranked = [&](const Candidate& x) { return Weighted{key(max - x.logit), x.id, 0}; };
    const auto kept = [&](const Candidate& x) { return !ranks_before(last, ranked(x)); };
    if (const size_t n = std::min(min_keep_, c.list.size());
        n > 1 && static_cast<size_t>(std::count_if(c.list.begin(), c.list.end(), kept)) < n) {
      scratch_.clear();
      for (const Candidate& x : c.list) scratch_.push_back(ranked(x));
      const auto nth = scratch_.begin() + static_cast<ptrdiff_t>(n - 1);
      std::nth_element(scratch_.begin(), nth, scratch_.end(),
                       [](const Weighted& a, const Weighted& b) { return ranks_before(a, b); });
      last = *nth;
    }
    c.keep_if(kept);
  }
  StagePtr clone() const override { return std::make_unique<Typical>(p_, min_keep_); }

 private:
  float p_;
  size_t min_keep_;
  std::vector<Weighted> scratch_;
};

}  // namespace

StagePtr make_typical(float p, int32_t min_keep) {
  return std::make_unique<Typical>(p, static_cast<size_t>(min_keep));
}

}  // namespace ingle::sampling
