#include <algorithm>

#include "sampling/edit.h"
#include "sampling/math.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// Keeps how often each id stands in the window, so that a step costs what the window holds of distinct ids.
class PenaltyStage final : public EditStage {
 public:
  explicit PenaltyStage(const Penalties& p) : p_(p) {}
  std::string_view name() const override { return "penalties"; }

  void accept(int32_t id) override {
    if (history_.size() == history_.capacity()) history_.reserve(std::max<size_t>(64, 2 * history_.size()));
    enter(id);  // the last that can fail
    history_.push_back(id);
    if (history_.size() > window()) leave(history_[history_.size() - 1 - window()]);
  }
  void rollback(int32_t n) override {
    for (; n > 0 && !history_.empty(); --n) {
      if (history_.size() > window()) enter(history_[history_.size() - 1 - window()]);
      leave(history_.back());
      history_.pop_back();
    }
  }
  StagePtr clone() const override { return std::make_unique<PenaltyStage>(*this); }

 private:
  struct Use {
    int32_t count = 0;
    uint32_t place = 0;  // in distinct_, while count > 0
  };
  std::span<const int32_t> ids() override { return distinct_; }
  float edited(size_t index, float value) const override {
    double logit = value;
    logit = logit > 0 ? logit / p_.repeat : logit * p_.repeat;
    logit -=
        static_cast<double>(p_.frequency) * uses_[static_cast<size_t>(distinct_[index])].count + p_.presence;
    return to_finite(logit);
  }
  size_t window() const { return static_cast<size_t>(p_.window); }

  void enter(int32_t id) {
    const auto index = static_cast<size_t>(id);
    if (uses_.size() <= index) uses_.resize(index + 1);
    if (uses_[index].count == 0) {
      distinct_.push_back(id);
      uses_[index].place = static_cast<uint32_t>(distinct_.size() - 1);
    }
    ++uses_[index].count;
  }
  void leave(int32_t id) {
    Use& use = uses_[static_cast<size_t>(id)];
    if (--use.count > 0) return;
    distinct_[use.place] = distinct_.back();
    uses_[static_cast<size_t>(distinct_.back())].place = use.place;
    distinct_.pop_back();
  }

  Penalties p_;
  std::vector<int32_t> history_;   // all accepted ids: a rollback brings old ones back into the window
  std::vector<Use> uses_;          // [id]
  std::vector<int32_t> distinct_;  // ids in the window
};

}  // namespace

StagePtr make_penalties(const Penalties& penalties) { return std::make_unique<PenaltyStage>(penalties); }

}  // namespace ingle::sampling
