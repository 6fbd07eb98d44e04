#include "sampling/support.h"

using namespace ingle::sampling;

TEST_CASE("the exponential is within two units of the last place", "[sampling]") {
  for (int i = 0; i <= 200000; ++i) {
    const double x = -i * (708.0 / 200000.0);
    REQUIRE(std::fabs(exp_nonpositive(x) / std::exp(x) - 1.0) < 4.5e-16);
  }
  CHECK(exp_nonpositive(0.0) == 1.0);
  for (const double x : {-709.0, -1e300, -std::numeric_limits<double>::infinity()})
    CHECK(exp_nonpositive(x) == exp_nonpositive(-708.0));
}

TEST_CASE("the exponential of floats is within two units of the last place", "[sampling]") {
  for (int i = 0; i <= 400000; ++i) {
    const float x = static_cast<float>(-i) * (87.0f / 400000.0f);
    REQUIRE(std::fabs(exp_in_range(x) / std::exp(static_cast<double>(x)) - 1.0) < 2.4e-7);
  }
}

TEST_CASE("the logarithm is within two units of the last place", "[sampling]") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52,
                                static_cast<int>(random() % 400) - 200);
    REQUIRE(std::fabs(log_positive(x) - std::log(x)) <= 4.5e-16 * std::max(1e-3, std::fabs(std::log(x))));
  }
  CHECK(log_positive(1.0) == 0.0);
  CHECK(log_positive(static_cast<double>(1e-45f)) == Approx(std::log(static_cast<double>(1e-45f))));
}

TEST_CASE("weights are monotone and cannot overflow in sum", "[sampling]") {
  CHECK(weight(0.0) == uint64_t{1} << 42);
  CHECK(weight(-1e9) == 0);
  for (int i = 0; i < 40000; ++i) REQUIRE(weight(-i * 1e-3) >= weight(-(i + 1) * 1e-3));
  CHECK(weight(0.0) <= UINT64_MAX / static_cast<uint64_t>(kMaxVocab));
}

TEST_CASE("what would leave the range of a float stops at its end", "[sampling]") {
  constexpr float max = std::numeric_limits<float>::max();
  CHECK(to_finite(1e300) == max);
  CHECK(to_finite(-1e300) == -max);
  CHECK(to_finite(0.5) == 0.5f);
}
