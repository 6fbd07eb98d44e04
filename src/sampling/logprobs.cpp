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

// Halves are added until one is left.
double sum_of_block(const float* exps) {
  constexpr size_t kChains = 16;
  float sums[kChains] = {};
  for (size_t i = 0; i < kExpBlock; i += kChains)
    for (size_t k = 0; k < kChains; ++k) sums[k] += exps[i + k];
  for (size_t width = kChains / 2; width > 0; width /= 2)
    for (size_t k = 0; k < width; ++k) sums[k] += sums[k + width];
  return sums[0];
}

// One pass in floats, 16 chains a block, and the blocks' sums in doubles: the order is fixed, whatever the
// width of the machine's vectors.
Norm norm_of(std::span<const float> row, float max) {
  double total = 0;
  float exps[kExpBlock];
  for (size_t begin = 0; begin < row.size(); begin += kExpBlock) {
    const size_t size = std::min(kExpBlock, row.size() - begin);
    exp_nonpositive(row.data() + begin, max, size, exps);
    std::fill(exps + size, exps + kExpBlock, 0.0f);
    total += sum_of_block(exps);
  }
  return {max, log_positive(total)};
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
