#include <limits>

#include "sampling/edit.h"
#include "sampling/math.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

class LogitBias final : public EditStage {
 public:
  explicit LogitBias(std::span<const Candidate> bias) {
    for (const Candidate& b : bias) {
      ids_.push_back(b.id);
      amounts_.push_back(b.logit);
    }
  }
  std::string_view name() const override { return "logit_bias"; }
  StagePtr clone() const override { return std::make_unique<LogitBias>(*this); }

 private:
  std::span<const int32_t> ids() override { return ids_; }
  float edited(size_t index, float logit) const override {
    constexpr float kBanned = -std::numeric_limits<float>::infinity();
    const float amount = amounts_[index];
    return amount == kBanned ? kBanned : to_finite(static_cast<double>(logit) + amount);
  }

  std::vector<int32_t> ids_;
  std::vector<float> amounts_;
};

}  // namespace

StagePtr make_logit_bias(std::span<const Candidate> bias) { return std::make_unique<LogitBias>(bias); }

}  // namespace ingle::sampling
