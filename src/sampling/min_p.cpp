#include <cmath>
#include <limits>

#include "sampling/math.h"
#include "sampling/row.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// p >= min_p * p_max is logit >= max + ln(min_p): one pass, no softmax.
class MinP final : public Stage {
 public:
  explicit MinP(float p) : p_(p), log_p_(p > 0 ? log_positive(p) : 0) {}
  std::string_view name() const override { return "min_p"; }

  void apply(Candidates& c) override {
    if (p_ <= 0.0f || c.list.empty()) return;
    const float cut = cut_below(c.max_logit());
    c.keep_if([cut](const Candidate& x) { return x.logit >= cut; });
  }
  bool apply_row(std::span<const float> row, Candidates& c) override {
    if (p_ <= 0.0f) return false;
    const float cut = cut_below(max_of_row(row));
    c.list.clear();
    for (size_t id = 0; id < row.size(); ++id)
      if (row[id] >= cut) c.list.push_back({static_cast<int32_t>(id), row[id]});
    c.sorted = false;
    c.by_id = true;
    return true;
  }
  StagePtr clone() const override { return std::make_unique<MinP>(p_); }

 private:
  // The smallest float that is not below the bound.
  float cut_below(float max) const {
    const double bound = static_cast<double>(max) + log_p_;
    const float cut = to_finite(bound);
    return cut < bound ? std::nextafter(cut, std::numeric_limits<float>::infinity()) : cut;
  }

  float p_;
  double log_p_;
};

}  // namespace

StagePtr make_min_p(float p) { return std::make_unique<MinP>(p); }

}  // namespace ingle::sampling
