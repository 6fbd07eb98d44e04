#include "core/checked_math.h"

#include <cstdint>
#include <limits>

#include "support/catch.h"

using namespace ingle;

namespace {
constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
}

TEST_CASE("checked sums and products", "[core]") {
  CHECK(checked_add(2, 3) == 5u);
  CHECK(checked_add(kMost, 0) == kMost);
  CHECK_FALSE(checked_add(kMost, 1));
  CHECK(checked_mul(6, 7) == 42u);
  CHECK(checked_mul(kMost, 0) == 0u);
  CHECK(checked_mul(kMost, 1) == kMost);
  CHECK(checked_mul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1));
  CHECK_FALSE(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32));
}

TEST_CASE("checked rounding", "[core]") {
  CHECK(checked_round_up(0, 32) == 0u);
  CHECK(checked_round_up(1, 32) == 32u);
  CHECK(checked_round_up(32, 32) == 32u);
  CHECK(checked_round_up(33, 1) == 33u);
  CHECK(checked_round_up(kMost - 31, 32) == kMost - 31);
  CHECK_FALSE(checked_round_up(kMost - 30, 32));
}

TEST_CASE("powers of two and plain rounding", "[core]") {
  CHECK(is_power_of_two(1));
  CHECK(is_power_of_two(uint64_t{1} << 63));
  CHECK_FALSE(is_power_of_two(0));
  CHECK_FALSE(is_power_of_two(12));
  CHECK(ceil_div(0, 3) == 0);
  CHECK(ceil_div(7, 3) == 3);
  CHECK(round_up(7, 3) == 9);
}
