#include <cmath>

#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

// Keeps logits of at least max - n * sigma, sigma over the candidates: the noise's width tells the tail from
// what is meant, whatever the temperature.
class TopNSigma final : public Stage {
 public:
  explicit TopNSigma(float n) : n_(n) {}
  std::string_view name() const override { return "top_n_sigma"; }
  void apply(Candidates& c) override {
    if (n_ <= 0.0f || c.list.empty()) return;
    if (!c.by_id) c.sort();  // the order of the sum is fixed
    const auto count = static_cast<double>(c.list.size());
    double sum = 0, squares = 0;
    for (const Candidate& x : c.list) sum += x.logit;
    const double mean = sum / count;
    for (const Candidate& x : c.list) squares += (x.logit - mean) * (x.logit - mean);
    const double bound = c.max_logit() - n_ * std::sqrt(squares / count);
    c.keep_if([bound](const Candidate& x) { return x.logit >= bound; });
  }
  StagePtr clone() const override { return std::make_unique<TopNSigma>(*this); }

 private:
  float n_;
};

}  // namespace

StagePtr make_top_n_sigma(float n) { return std::make_unique<TopNSigma>(n); }

}  // namespace ingle::sampling
