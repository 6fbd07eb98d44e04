// Counts with fixed bounds, so that adding one costs a short search and no memory.
#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace ingle::engine {

// From half a millisecond to an hour, and from one token to a million: each about twice the one before.
inline constexpr std::array<double, 22> kSecondBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05,
                                                         0.075,  0.1,   0.2,    0.35,  0.5,  0.75, 1,    2,
                                                         5,      10,    30,     120,   600,  3600};
inline constexpr std::array<double, 22> kTokenBounds = {
    1,    2,    4,    8,    16,    32,    64,    128,    256,    384,    512,
    1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576};

class Counts {
 public:
  explicit Counts(const std::array<double, 22>& bounds) : bounds_(&bounds) {}
  void add(double value) noexcept {
    size_t i = 0;
    while (i < bounds_->size() && value > (*bounds_)[i]) ++i;
    ++counts_[i];
    sum_ += value;
    ++count_;
  }
  std::span<const double> bounds() const { return *bounds_; }
  std::span<const uint64_t> counts() const { return counts_; }  // one more than bounds: above all
  double sum() const { return sum_; }
  uint64_t count() const { return count_; }

 private:
  const std::array<double, 22>* bounds_;
  std::array<uint64_t, 23> counts_{};
  double sum_ = 0;
  uint64_t count_ = 0;
};

struct Metrics {
  int64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0, recomputed_tokens = 0, steps = 0;
  std::array<int64_t, 8> finished{};
  Counts queue{kSecondBounds}, first_token{kSecondBounds}, between_tokens{kSecondBounds},
      prefill{kSecondBounds}, decode{kSecondBounds}, end_to_end{kSecondBounds};
  Counts step{kSecondBounds}, host{kSecondBounds};
  Counts step_tokens{kTokenBounds}, prompt_length{kTokenBounds}, generated_length{kTokenBounds};
};

}  // namespace ingle::engine
