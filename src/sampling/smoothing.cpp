#include "sampling/math.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// With d = logit - max and k = (3 - curve) / 2, s = (curve - 1) / 2: max - k f d^2 + s f d^3 (kalomaze 2024,
// as text-generation-webui applies it). A curve of 1 is quadratic; above 3 the logits next to the highest
// rise past it.
class Smoothing final : public Stage {
 public:
  Smoothing(float factor, float curve)
      : k_(factor * (3.0 - curve) / 2), s_(factor * (static_cast<double>(curve) - 1) / 2) {}
  std::string_view name() const override { return "smoothing"; }
  void apply(Candidates& c) override {
    if (c.list.empty() || (k_ == 0 && s_ == 0)) return;
    const double max = c.max_logit();
    for (Candidate& x : c.list) {
      const double d = x.logit - max;
      x.logit = to_finite(max + d * d * (s_ * d - k_));
    }
    c.sorted = false;
  }
  StagePtr clone() const override { return std::make_unique<Smoothing>(*this); }

 private:
  double k_, s_;
};

}  // namespace

StagePtr make_smoothing(float factor, float curve) { return std::make_unique<Smoothing>(factor, curve); }

}  // namespace ingle::sampling
