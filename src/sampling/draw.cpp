#include <algorithm>

#include "core/random.h"
#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// The inverse of the cumulative distribution, candidates by descending logit. The random number depends on
// the seed and the number of accepted tokens alone, so a rollback gives the same draws again, and so does any
// order of sequences in a batch.
class Draw final : public Stage {
 public:
  explicit Draw(uint64_t seed) : seed_(seed) {}
  std::string_view name() const override { return "draw"; }

  void apply(Candidates& c) override {
    if (c.list.empty()) return;
    const Weighted hit = draw_at(c, uniform(seed_, n_accepted_), scratch_);
    choose(c, {hit.id, static_cast<float>(hit.key)});
  }
  void accept(int32_t) override { ++n_accepted_; }
  void rollback(int32_t n) override {
    n_accepted_ -= std::min(n_accepted_, static_cast<uint64_t>(std::max(n, 0)));
  }
  StagePtr clone() const override {
    auto copy = std::make_unique<Draw>(seed_);
    copy->n_accepted_ = n_accepted_;
    return copy;
  }

 private:
  uint64_t seed_, n_accepted_ = 0;
  std::vector<Weighted> scratch_;
};

}  // namespace

StagePtr make_draw(uint64_t seed) { return std::make_unique<Draw>(seed); }

}  // namespace ingle::sampling
