#include "engine/cost_model.h"

#include <algorithm>
#include <cmath>

namespace ingle::engine {

void CostModel::observe(const StepLoad& load, double seconds) noexcept {
  if (!std::isfinite(seconds) || seconds <= 0 || load.tokens <= 0) return;
  // Times are weighted by their inverse: an error of a tenth counts alike in short and in long steps, else
  // the long ones alone would shape the fit, and the short ones are those that people wait for.
  const double weight = 1 / seconds;
  const std::array<double, 3> x = {weight, weight * static_cast<double>(load.tokens),
                                   weight * load.seen / kSeenUnit};
  // A direction in which nothing is seen for long must not become infinitely uncertain.
  constexpr double kMostUncertain = 3e4;
  const double forget = p_[0][0] + p_[1][1] + p_[2][2] < kMostUncertain ? kForget : 1;
  std::array<double, 3> px{};
  double denominator = forget, error = 1;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) px[i] += p_[i][j] * x[j];
    denominator += x[i] * px[i];
    error -= x[i] * theta_[i];
  }
  for (size_t i = 0; i < 3; ++i) theta_[i] += px[i] / denominator * error;
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = i; j < 3; ++j) p_[i][j] = p_[j][i] = (p_[i][j] - px[i] * px[j] / denominator) / forget;
  ++observations_;
}

double CostModel::predict(const StepLoad& load) const noexcept {
  return base() + per_token() * static_cast<double>(load.tokens) + per_seen() * load.seen;
}

// per_token * n + per_seen * (start * n + n^2 / 2) <= seconds, solved for n in the form that does not cancel.
int64_t CostModel::tokens_within(double seconds, int64_t start, int64_t most) const noexcept {
  if (!(seconds > 0)) return 0;
  const double linear = per_token() + per_seen() * static_cast<double>(start);
  const double root = linear + std::sqrt(linear * linear + 2 * per_seen() * seconds);
  if (!(root > 0)) return most;
  const double n = 2 * seconds / root;
  return n >= static_cast<double>(most) ? most : static_cast<int64_t>(n);
}

}  // namespace ingle::engine
