#include "core/error.h"
#include "sampling/math.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

class Temperature final : public Stage {
 public:
  explicit Temperature(float value) : value_(value) {}
  std::string_view name() const override { return "temperature"; }
  // Relative to the highest logit, which softmax does not notice, so that a tiny temperature cannot overflow.
  void apply(Candidates& c) override {
    if (value_ == 1.0f || c.list.empty()) return;
    const double max = c.max_logit();
    for (Candidate& x : c.list) x.logit = to_finite((x.logit - max) / value_);
    c.sorted = false;  // rounding may have made ties
  }
  StagePtr clone() const override { return std::make_unique<Temperature>(*this); }

 private:
  float value_;
};

}  // namespace

StagePtr make_temperature(float value) {
  if (!(value > 0))
    fail(Code::invalid_argument, "temperature", format("{}, expected above 0", value), "use greedy");
  return std::make_unique<Temperature>(value);
}

}  // namespace ingle::sampling
