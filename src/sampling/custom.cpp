#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "core/error.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// A host's stage. It sees what was accepted, so it needs no state of its own, and rollback and copies are
// right by themselves.
class Custom final : public Stage {
 public:
  explicit Custom(CustomStage stage) : stage_(std::move(stage)) {}
  std::string_view name() const override { return stage_.name; }

  void apply(Candidates& c) override {
    ids_.clear();
    logits_.clear();
    for (const Candidate& x : c.list) {
      ids_.push_back(x.id);
      logits_.push_back(x.logit);
    }
    call();
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < c.list.size(); ++i) {
      if (!(logits_[i] < kInfinity))
        fail(Code::numeric, where(),
             format("gave {} for id {}, expected a finite number or -inf",
                    std::isnan(logits_[i]) ? "NaN" : "+inf", c.list[i].id));
      c.list[i].logit = logits_[i];
    }
    c.sorted = false;
    c.keep_if([](const Candidate& x) { return x.logit > -kInfinity; });
  }
  void accept(int32_t id) override { history_.push_back(id); }
  void rollback(int32_t n) override {
    history_.resize(history_.size() - std::min(history_.size(), static_cast<size_t>(std::max(n, 0))));
  }
  StagePtr clone() const override { return std::make_unique<Custom>(*this); }

 private:
  std::string where() const { return "sampler stage " + stage_.name; }
  void call() {
    try {
      stage_.apply(history_, ids_, logits_);
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      fail(Code::invalid_argument, where(), std::string("failed: ") + e.what());
    } catch (...) {
      fail(Code::invalid_argument, where(), "threw something that is no std::exception");
    }
  }

  CustomStage stage_;
  std::vector<int32_t> history_, ids_;
  std::vector<float> logits_;
};

}  // namespace

StagePtr make_custom(const CustomStage& stage) { return std::make_unique<Custom>(stage); }

}  // namespace ingle::sampling
