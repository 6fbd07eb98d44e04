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
    const uint64_t total = weigh(c, scratch_);
    const Weighted last = reach(scratch_, share_of(p_, total) - 1);
    const Candidate cut{last.id, static_cast<float>(last.key)};
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
