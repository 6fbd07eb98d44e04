#include "sampling/support.h"

using namespace ingle;
using namespace ingle::sampling;

TEST_CASE("log-probabilities equal the formula", "[sampling]") {
  for (const size_t n : {1u, 3u, 100u, 5000u}) {
    const Row row = random_row(static_cast<uint32_t>(n), n, 4);
    long double sum = 0;
    for (const float x : row) sum += std::exp(static_cast<long double>(x));
    for (size_t id = 0; id < n; ++id) {
      const float got = log_softmax_at(row, static_cast<int32_t>(id));
      if (row[id] == kBan)
        REQUIRE(got == kBan);
      else
        REQUIRE(std::fabs(got - static_cast<float>(row[id] - std::log(sum))) <= 2e-6f);
    }
    const auto all = sorted_list(row);
    for (const int32_t k : {0, 1, 5, 2147483647}) {
      const auto top = log_softmax_top(row, k);
      REQUIRE(top.size() == std::min(all.size(), static_cast<size_t>(k)));
      for (size_t i = 0; i < top.size(); ++i) {
        REQUIRE(top[i].id == all[i].id);
        REQUIRE(top[i].logit == log_softmax_at(row, top[i].id));
      }
    }
  }
}

TEST_CASE("large logits do not overflow", "[sampling]") {
  CHECK(log_softmax_at(Row{3e38f, 3e38f}, 1) == Approx(-std::log(2.0)));
  CHECK(log_softmax_at(Row{3e38f, -3e38f}, 0) == 0.0f);
}

TEST_CASE("bad rows and ids are errors", "[sampling]") {
  const Row row = {1.0f, 2.0f};
  CHECK(error_of([&] { log_softmax_at(row, 2); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { log_softmax_at(row, -1); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { log_softmax_top(row, -1); }).code() == Code::invalid_argument);
  CHECK(error_of([] { log_softmax_at(Row{1.0f, std::nanf("")}, 0); }).code() == Code::numeric);
  CHECK(error_of([] { log_softmax_top(Row{kBan}, 1); }).code() == Code::numeric);
}
