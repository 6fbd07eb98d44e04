// Mirostat (Basu et al., "Mirostat: a neural text decoding algorithm that directly controls perplexity",
// 2021): candidates are cut so that the surprise of what is drawn, in bits, stays near tau. The surprise is
// that under the distribution that the stage was given, as in the paper.
#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "sampling/math.h"
#include "sampling/row.h"
#include "sampling/select.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

double exp_of(double x) { return x <= 0 ? exp_nonpositive(x) : 1 / exp_nonpositive(-x); }

// What both versions share: the bound mu, which follows the error of each token that was drawn here.
class MirostatBase : public Stage {
 public:
  MirostatBase(float tau, float eta, uint64_t seed) : tau_(tau), eta_(eta), seed_(seed), mu_(2.0 * tau) {}

  void apply(Candidates& c) final {
    if (c.list.empty()) return;
    const double max = c.max_logit();
    const double log_z = log_positive(static_cast<double>(weigh(c, scratch_)) / kWeightOne);
    cut(c, max, log_z);
    const Weighted hit = draw_at(c, uniform(seed_, before_.size()), scratch_);
    drawn_ = hit.id;
    surprise_ = (max - hit.key + log_z) / kLn2;
    choose(c, {hit.id, static_cast<float>(hit.key)});
  }
  void accept(int32_t id) override {
    before_.push_back(mu_);
    if (id == drawn_) mu_ -= eta_ * (surprise_ - tau_);  // not for tokens of a prompt
    drawn_ = -1;
  }
  void rollback(int32_t n) override {
    for (; n > 0 && !before_.empty(); --n) {
      mu_ = before_.back();
      before_.pop_back();
    }
    drawn_ = -1;
  }

 protected:
  // Leaves at least the likeliest. ln p = logit - max - log_z.
  virtual void cut(Candidates& c, double max, double log_z) = 0;
  double mu() const { return mu_; }

 private:
  double tau_, eta_;
  uint64_t seed_;
  double mu_, surprise_ = 0;
  int32_t drawn_ = -1;
  std::vector<double> before_;  // mu before each accepted token
  std::vector<Weighted> scratch_;
};

// The exponent s of Zipf's law is estimated from the likeliest 100, and the k that goes with mu from s.
class Mirostat1 final : public MirostatBase {
 public:
  using MirostatBase::MirostatBase;
  std::string_view name() const override { return "mirostat_1"; }
  StagePtr clone() const override { return std::make_unique<Mirostat1>(*this); }

 private:
  void cut(Candidates& c, double, double) override {
    constexpr size_t kEstimated = 100;
    top_.resize(std::min(kEstimated, c.list.size()));
    std::partial_sort_copy(c.list.begin(), c.list.end(), top_.begin(), top_.end(),
                           [](const Candidate& a, const Candidate& b) { return ranks_before(a, b); });
    const double k = wanted(zipf_exponent(), static_cast<double>(c.list.size()));
    const auto n = static_cast<size_t>(std::floor(k));
    if (n >= c.list.size()) return;
    top_of_list(c.list, n, kept_);
    std::swap(c.list, kept_);
    c.sorted = c.by_id = false;
  }

  double zipf_exponent() const {
    double tb = 0, tt = 0;
    for (size_t i = 0; i + 1 < top_.size(); ++i) {
      const double t = log_positive(static_cast<double>(i + 2) / static_cast<double>(i + 1));
      tb += t * (static_cast<double>(top_[i].logit) - top_[i + 1].logit);
      tt += t * t;
    }
    return tt > 0 ? tb / tt : 0;
  }

  // (e 2^mu / (1 - n^-e))^(1/s) with e = s - 1, in [1, n]; at e = 0 the quotient's limit is 1 / ln n.
  double wanted(double s, double n) const {
    constexpr double kFlat = 1e-6;
    if (n < 2) return 1;
    const double e = s - 1, log_n = log_positive(n);
    const double x = e * log_n;
    const double quotient = std::fabs(x) < kFlat ? 1 / log_n : e / (1 - exp_of(std::min(-x, 700.0)));
    if (!(quotient > 1e-300)) return 1;
    const double log_k = (log_positive(quotient) + mu() * kLn2) / std::max(s, 1e-9);
    if (log_k <= 0) return 1;
    return log_k >= log_n ? n : exp_of(log_k);
  }

  std::vector<Candidate> top_, kept_;
};

// Keeps what surprises by at most mu bits.
class Mirostat2 final : public MirostatBase {
 public:
  using MirostatBase::MirostatBase;
  std::string_view name() const override { return "mirostat_2"; }
  StagePtr clone() const override { return std::make_unique<Mirostat2>(*this); }

 private:
  void cut(Candidates& c, double max, double log_z) override {
    const double bound = max + log_z - mu() * kLn2;
    if (bound > max) {
      c.list.assign(1, c.best());
      return;
    }
    c.keep_if([bound](const Candidate& x) { return x.logit >= bound; });
  }
};

}  // namespace

StagePtr make_mirostat_1(float tau, float eta, uint64_t seed) {
  return std::make_unique<Mirostat1>(tau, eta, seed);
}
StagePtr make_mirostat_2(float tau, float eta, uint64_t seed) {
  return std::make_unique<Mirostat2>(tau, eta, seed);
}

}  // namespace ingle::sampling
