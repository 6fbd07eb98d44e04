// How long a step takes, learnt from the steps themselves: t = base + per_token * tokens + per_seen * seen,
// where `seen` counts for each token of the step the positions that it looks back on. Recursive least squares
// with forgetting, so that a machine that becomes slower is followed; no allocation, no clock.
#pragma once
#include <array>
#include <cstdint>

namespace ingle::engine {

// What a step does: tokens, and for each of them the positions before it, summed.
struct StepLoad {
  int64_t tokens = 0;
  double seen = 0;

  void add(int64_t start, int64_t n) {
    tokens += n;
    seen += static_cast<double>(n) * (static_cast<double>(start) + 0.5 * static_cast<double>(n));
  }
};

class CostModel {
 public:
  // A step of `load` took so many seconds. What is no time (not finite, not positive) is passed over.
  void observe(const StepLoad& load, double seconds) noexcept;
  // Enough steps were seen for predictions to mean something.
  bool ready() const { return observations_ >= kWarmUp; }
  int64_t observations() const { return observations_; }
  double predict(const StepLoad& load) const noexcept;  // seconds, never negative
  // The most tokens that fit into `seconds` when they continue a sequence at `start`; 0 when none does. Only
  // the marginal cost counts: the step takes place anyway.
  int64_t tokens_within(double seconds, int64_t start, int64_t most) const noexcept;
  double base() const { return at_least_zero(theta_[0]); }       // seconds of a step whatever it does
  double per_token() const { return at_least_zero(theta_[1]); }  // seconds
  double per_seen() const { return at_least_zero(theta_[2]) / kSeenUnit; }

 private:
  static constexpr int kWarmUp = 6;
  static constexpr double kForget = 0.98;
  static constexpr double kSeenUnit = 1024;  // keeps the three inputs of similar size
  static double at_least_zero(double x) { return x > 0 ? x : 0; }
  std::array<double, 3> theta_{};
  std::array<std::array<double, 3>, 3> p_{{{1e4, 0, 0}, {0, 1e4, 0}, {0, 0, 1e4}}};
  int64_t observations_ = 0;
};

}  // namespace ingle::engine
