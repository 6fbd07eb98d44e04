#include <algorithm>
#include <limits>

#include "core/error.h"
#include "sampling/chain.h"
#include "sampling/math.h"
#include "sampling/row.h"

namespace ingle::sampling {
namespace {

constexpr const char* kWhere = "log-probabilities";

// ln p = (logit - max) - log_sum: subtracted in this order, large logits lose nothing.
struct Norm {
  double max, log_sum;
  float log_p(float logit) const { return static_cast<float>((logit - max) - log_sum); }
};

// The order of the sum is fixed: four chains over the row, then their sum.
Norm norm_of(std::span<const float> row) {
  const double max = max_of_row(row);
  double sums[4] = {};
  double exps[kExpBlock];
  for (size_t begin = 0; begin < row.size(); begin += kExpBlock) {
    const size_t size = std::min(kExpBlock, row.size() - begin);
    for (size_t i = 0; i < size; ++i) exps[i] = exp_nonpositive(row[begin + i] - max);
    for (size_t i = 0; i < size; ++i) sums[i % 4] += exps[i];
  }
  return {max, log_positive((sums[0] + sums[1]) + (sums[2] + sums[3]))};
}

}  // namespace

float log_softmax_at(std::span<const float> logits, int32_t id) {
  check_row(logits, kWhere);
  if (id < 0 || static_cast<size_t>(id) >= logits.size())
    fail(Code::invalid_argument, kWhere, format("id {}, expected 0 to {}", id, logits.size() - 1));
  return norm_of(logits).log_p(logits[static_cast<size_t>(id)]);
}

std::vector<Candidate> top_logprobs(std::span<const float> logits, int32_t k) {
  check_row(logits, kWhere);
  if (k < 0) fail(Code::invalid_argument, kWhere, format("the {} most likely", k));
  std::vector<Candidate> best;
  top_of_row(logits, static_cast<size_t>(k), best);
  std::sort(best.begin(), best.end(), ranks_before);
  const Norm norm = norm_of(logits);
  for (Candidate& c : best) c.logit = norm.log_p(c.logit);
  return best;
}

}  // namespace ingle::sampling
