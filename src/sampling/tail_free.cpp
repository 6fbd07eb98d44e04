#include <algorithm>
#include <cmath>

#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// Cuts where the curve of sorted probabilities has bent enough: where the sum of |second differences| passes
// the share z of them all. The cut stands one after the bend, as in the authors' code. Ids that are
// impossible in units of the weights lie flat and only end the curve.
class TailFree final : public Stage {
 public:
  explicit TailFree(float z) : z_(z) {}
  std::string_view name() const override { return "tail_free"; }
  void apply(Candidates& c) override {
    if (z_ >= 1.0f || c.list.size() < 3) return;
    weigh(c, curve_);
    std::sort(curve_.begin(), curve_.end(),
              [](const Weighted& a, const Weighted& b) { return ranks_before(a, b); });
    const size_t n_bends = std::min(curve_.size(), c.list.size() - 2);  // beyond, they are all 0
    uint64_t total = 0, sum = 0;
    for (size_t i = 0; i < n_bends; ++i) total += bend(i);
    if (total == 0) return;
    const auto most = static_cast<uint64_t>(std::floor(static_cast<double>(z_) * static_cast<double>(total)));
    size_t kept = 1;
    for (size_t i = 0; i < n_bends; ++i, ++kept)
      if ((sum += bend(i)) > most) break;
    if (kept >= curve_.size()) {
      // No id of any weight is cut; of the others as many as the count says, which only z near 1 can ask for.
      if (kept == c.list.size()) return;
      c.sort();
      c.list.resize(kept);
      return;
    }
    const Weighted last = curve_[kept - 1];
    const Candidate cut{last.id, static_cast<float>(last.key)};
    c.keep_if([&](const Candidate& x) { return !ranks_before(cut, x); });
  }
  StagePtr clone() const override { return std::make_unique<TailFree>(*this); }

 private:
  int64_t at(size_t i) const { return i < curve_.size() ? static_cast<int64_t>(curve_[i].weight) : 0; }
  uint64_t bend(size_t i) const {
    return static_cast<uint64_t>(std::abs(std::abs(at(i) - at(i + 1)) - std::abs(at(i + 1) - at(i + 2))));
  }

  float z_;
  std::vector<Weighted> curve_;
};

}  // namespace

StagePtr make_tail_free(float z) { return std::make_unique<TailFree>(z); }

}  // namespace ingle::sampling
