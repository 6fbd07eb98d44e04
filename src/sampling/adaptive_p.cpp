#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "sampling/math.h"
#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// Prefers tokens whose probability lies near a target, and moves the target so that the mean over what was
// drawn comes to it (Adaptive-P, MrJackSpade 2025, with the constants of llama.cpp).
class AdaptiveP final : public Stage {
 public:
  AdaptiveP(float target, float decay, uint64_t seed)
      : target_(target), decay_(decay), seed_(seed), mean_{target_ / (1 - decay_), 1 / (1 - decay_)} {}
  std::string_view name() const override { return "adaptive_p"; }

  void apply(Candidates& c) override {
    if (c.list.empty()) return;
    constexpr double kWidth = 0.3, kPeak = 5, kSharpness = 10;
    const double max = c.max_logit();
    const double z = static_cast<double>(weigh(c, scratch_)) / kWeightOne;
    const double aim = std::clamp(2 * target_ - mean_.sum / mean_.weight, 0.0, 1.0);
    logits_.clear();
    for (Candidate& x : c.list) {
      logits_.push_back(x.logit);
      const double d = std::fabs(exp_nonpositive(x.logit - max) / z - aim) / kWidth;
      x.logit = to_finite(kPeak - kSharpness * d * d / (1 + d));
    }
    c.sorted = false;
    const Weighted hit = draw_at(c, uniform(seed_, before_.size()), scratch_);
    const Candidate* found = c.find(hit.id);
    p_ = exp_nonpositive(logits_[static_cast<size_t>(found - c.list.data())] - max) / z;
    drawn_ = hit.id;
    choose(c, {hit.id, static_cast<float>(hit.key)});
  }
  void accept(int32_t id) override {
    before_.push_back(mean_);
    if (id == drawn_)
      mean_ = {p_ + decay_ * mean_.sum, 1 + decay_ * mean_.weight};  // not for a prompt's tokens
    drawn_ = -1;
  }
  void rollback(int32_t n) override {
    for (; n > 0 && !before_.empty(); --n) {
      mean_ = before_.back();
      before_.pop_back();
    }
    drawn_ = -1;
  }
  StagePtr clone() const override { return std::make_unique<AdaptiveP>(*this); }

 private:
  struct Mean {
    double sum, weight;
  };
  double target_, decay_;
  uint64_t seed_;
  Mean mean_;  // of the probabilities that were drawn, fading; at first as if all had been the target
  double p_ = 0;
  int32_t drawn_ = -1;
  std::vector<Mean> before_;  // each accepted token
  std::vector<float> logits_;
  std::vector<Weighted> scratch_;
};

}  // namespace

StagePtr make_adaptive_p(float target, float decay, uint64_t seed) {
  return std::make_unique<AdaptiveP>(target, decay, seed);
}

}  // namespace ingle::sampling
