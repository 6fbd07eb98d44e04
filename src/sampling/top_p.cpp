#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

class TopP final : public Stage {
 public:
  explicit TopP(float p) : p_(p) {}
  std::string_view name() const override { return "top_p"; }
  // Keeps the shortest prefix, by descending logit, of at least probability p. Only its last candidate is
  // looked for; the rest need no order.
  void apply(Candidates& c) override {
    if (p_ >= 1.0f || c.list.empty()) return;
    const Candidate cut = reach_share(c, p_, scratch_);
    c.keep_if([&](const Candidate& x) { return !ranks_before(cut, x); });
  }
  StagePtr clone() const override { return std::make_unique<TopP>(p_); }

 private:
  float p_;
  std::vector<Weighted> scratch_;
};

}  // namespace

StagePtr make_top_p(float p) { return std::make_unique<TopP>(p); }

}  // namespace ingle::sampling
