#include <limits>

#include "sampling/math.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

class LogitBias final : public Stage {
 public:
  explicit LogitBias(std::span<const Candidate> bias) : bias_(bias.begin(), bias.end()) {}
  std::string_view name() const override { return "logit_bias"; }
  void apply(Candidates& c) override {
    constexpr float kBanned = -std::numeric_limits<float>::infinity();
    bool banned = false;
    for (const Candidate& b : bias_) {
      Candidate* x = c.find(b.id);
      if (!x) continue;
      c.sorted = false;
      banned |= b.logit == kBanned;
      x->logit = b.logit == kBanned ? kBanned : to_finite(static_cast<double>(x->logit) + b.logit);
    }
    if (banned) c.keep_if([](const Candidate& x) { return x.logit != kBanned; });
  }
  StagePtr clone() const override { return std::make_unique<LogitBias>(*this); }

 private:
  std::vector<Candidate> bias_;
};

}  // namespace

StagePtr make_logit_bias(std::span<const Candidate> bias) { return std::make_unique<LogitBias>(bias); }

}  // namespace ingle::sampling
