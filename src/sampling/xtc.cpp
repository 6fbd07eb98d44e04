#include <algorithm>

#include "core/random.h"
#include "sampling/math.h"
#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

constexpr uint64_t kStream = 0x7874635f73747265;  // its random numbers are not those of the draw

// Exclude top choices (p-e-w, oobabooga/text-generation-webui pull request 6335, 2024): with a probability,
// removes all candidates of at least the threshold but the least likely of them.
class Xtc final : public Stage {
 public:
  Xtc(float probability, float threshold, uint64_t seed, size_t min_keep)
      : probability_(probability), threshold_(threshold), min_keep_(min_keep), seed_(seed ^ kStream) {}
  std::string_view name() const override { return "xtc"; }
  void apply(Candidates& c) override {
    if (probability_ <= 0.0f || c.list.size() < 2) return;
    if (uniform(seed_, n_accepted_) >= probability_) return;
    const uint64_t total = weigh(c, scratch_);
    const double least = static_cast<double>(threshold_) * static_cast<double>(total);
    const Weighted* last = nullptr;  // the lowest of the top choices
    for (const Weighted& w : scratch_)
      if (static_cast<double>(w.weight) >= least && (!last || ranks_before(*last, w))) last = &w;
    if (!last) return;
    const Candidate first{last->id, static_cast<float>(last->key)};
    const auto kept = [&](const Candidate& x) { return !ranks_before(x, first); };
    if (min_keep_ > 1 && static_cast<size_t>(std::count_if(c.list.begin(), c.list.end(), kept)) < min_keep_)
      return;
    c.keep_if(kept);
  }
  void accept(int32_t) override { ++n_accepted_; }
  void rollback(int32_t n) override {
    n_accepted_ -= std::min(n_accepted_, static_cast<uint64_t>(std::max(n, 0)));
  }
  StagePtr clone() const override { return std::make_unique<Xtc>(*this); }

 private:
  float probability_, threshold_;
  size_t min_keep_;
  uint64_t seed_, n_accepted_ = 0;
  std::vector<Weighted> scratch_;
};

}  // namespace

StagePtr make_xtc(float probability, float threshold, uint64_t seed, int32_t min_keep) {
  return std::make_unique<Xtc>(probability, threshold, seed, static_cast<size_t>(min_keep));
}

}  // namespace ingle::sampling
