#include <algorithm>
#include <limits>

#include "core/error.h"
#include "sampling/chain.h"
#include "sampling/math.h"
#include "sampling/row.h"
#include "sampling/row_loops.h"

namespace ingle::sampling {
namespace {

constexpr const char* kWhere = "log-probabilities";

// ln p = (logit - max) - log_sum: subtracted in this order, large logits lose nothing.
struct Norm {
  double max, log_sum;
  float log_p(float logit) const { return static_cast<float>((logit - max) - log_sum); }
};

Norm norm_of(std::span<const float> row, float max) {
  return {max, log_positive(row_loops().sum_of_exps(row.data(), row.size(), max))};
}

}  // namespace

float log_softmax_at(std::span<const float> logits, int32_t id) {
  const float max = check_row(logits, kWhere);
  if (id < 0 || static_cast<size_t>(id) >= logits.size())
    fail(Code::invalid_argument, kWhere, format("id {}, expected 0 to {}", id, logits.size() - 1));
  return norm_of(logits, max).log_p(logits[static_cast<size_t>(id)]);
}

std::vector<Candidate> log_softmax_top(std::span<const float> logits, int32_t k) {
  const float max = check_row(logits, kWhere);
  if (k < 0) fail(Code::invalid_argument, kWhere, format("the {} most likely", k));
  std::vector<Candidate> best;
  top_of_row(logits, static_cast<size_t>(k), best);
  std::sort(best.begin(), best.end(), ranks_before);
  const Norm norm = norm_of(logits, max);
  for (Candidate& c : best) c.logit = norm.log_p(c.logit);
  return best;
}

}  // namespace ingle::sampling
