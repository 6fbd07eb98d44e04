#include "sampling/math.h"
#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// p >= a * p_max^2 is logit >= max + ln(a * p_max), and p_max is 1 / Z.
class TopA final : public Stage {
 public:
  explicit TopA(float a) : a_(a) {}
  std::string_view name() const override { return "top_a"; }
  void apply(Candidates& c) override {
    if (a_ <= 0.0f || c.list.empty()) return;
    const double max = c.max_logit();
    const double p_max = kWeightOne / static_cast<double>(weigh(c, scratch_));
    const double bound = max + log_positive(a_ * p_max);
    c.keep_if([bound](const Candidate& x) { return x.logit >= bound; });
  }
  StagePtr clone() const override { return std::make_unique<TopA>(a_); }

 private:
  float a_;
  std::vector<Weighted> scratch_;
};

}  // namespace

StagePtr make_top_a(float a) { return std::make_unique<TopA>(a); }

}  // namespace ingle::sampling
