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
  explicit Typical(float p) : p_(p) {}
  std::string_view name() const override { return "typical_p"; }

  void apply(Candidates& c) override {
    if (p_ >= 1.0f || c.list.empty()) return;
    const double max = c.max_logit();
    const uint64_t total = weigh(c, scratch_);
    const double mean = mean_depth(scratch_, max);
    const auto key = [mean](double d) { return -std::fabs(d - mean); };
    for (Weighted& w : scratch_) w.key = key(max - w.key);
    const Weighted last = reach(scratch_, share_of(p_, total) - 1);
    c.keep_if([&](const Candidate& x) { return !ranks_before(last, Weighted{key(max - x.logit), x.id, 0}); });
  }
  StagePtr clone() const override { return std::make_unique<Typical>(p_); }

 private:
  float p_;
  std::vector<Weighted> scratch_;
};

}  // namespace

StagePtr make_typical(float p) { return std::make_unique<Typical>(p); }

}  // namespace ingle::sampling
