#include <algorithm>

#include "sampling/math.h"
#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// The temperature goes from value - range, where the model is sure, to value + range, where it knows nothing:
// by (entropy / ln n)^exponent over n candidates (kalomaze, llama.cpp pull request 4972, 2024).
class DynamicTemperature final : public Stage {
 public:
  DynamicTemperature(float value, float range, float exponent)
      : low_(std::max(0.0, static_cast<double>(value) - range)),
        high_(static_cast<double>(value) + range),
        exponent_(exponent) {}
  std::string_view name() const override { return "dynamic_temperature"; }

  void apply(Candidates& c) override {
    if (c.list.size() < 2) return;
    const double max = c.max_logit();
    const double t = low_ + (high_ - low_) * share_of_entropy(c, max);
    if (t <= 0) {
      c.list.assign(1, c.best());
      return;
    }
    for (Candidate& x : c.list) x.logit = to_finite((x.logit - max) / t);
    c.sorted = false;  // rounding may have made ties
  }
  StagePtr clone() const override { return std::make_unique<DynamicTemperature>(*this); }

 private:
  double share_of_entropy(const Candidates& c, double max) {
    const auto total = static_cast<double>(weigh(c, scratch_));
    const double entropy = log_positive(total / kWeightOne) + mean_depth(scratch_, max);
    const double share = entropy / log_positive(static_cast<double>(c.list.size()));
    if (share <= 0) return 0;
    return share >= 1 ? 1 : exp_nonpositive(exponent_ * log_positive(share));
  }

  double low_, high_;
  float exponent_;
  std::vector<Weighted> scratch_;
};

}  // namespace

StagePtr make_dynamic_temperature(float value, float range, float exponent) {
  return std::make_unique<DynamicTemperature>(value, range, exponent);
}

}  // namespace ingle::sampling
