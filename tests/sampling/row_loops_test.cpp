#include "sampling/row_loops.h"

#include <bit>

#include "sampling/math.h"
#include "sampling/support.h"

using namespace ingle;
using namespace ingle::sampling;

TEST_CASE("loops over a row give the same bits in any vectors", "[sampling]") {
  const RowLoops plain = plain_row_loops(), wide = row_loops();
  if (plain.max == wide.max) WARN("skipped: this processor has no vectors wider than the base line's");
  for (const size_t n : {1u, 15u, 16u, 17u, 127u, 128u, 129u, 1000u, 49152u}) {
    Row row = random_row(static_cast<uint32_t>(n) + 7, n, 20);
    if (n > 20) row[n - 3] = kBan, row[3] = -3e38f;
    bool bad = true, also_bad = true;
    const float max = plain.max(row.data(), n, bad);
    CHECK(max == *std::max_element(row.begin(), row.end()));
    CHECK(wide.max(row.data(), n, also_bad) == max);
    CHECK_FALSE(bad);
    CHECK_FALSE(also_bad);
    for (const float value : {row[0], row[n / 2], row[n - 1], max, 1e30f}) {
      const auto found = static_cast<size_t>(std::find(row.begin(), row.end(), value) - row.begin());
      CHECK(plain.find(row.data(), n, value) == found);
      CHECK(wide.find(row.data(), n, value) == found);
    }
    CHECK(std::bit_cast<uint64_t>(plain.sum_of_exps(row.data(), n, max)) ==
          std::bit_cast<uint64_t>(wide.sum_of_exps(row.data(), n, max)));
  }
}

TEST_CASE("what adds nothing to a sum of exponentials is bounded", "[sampling]") {
  const float row[] = {5.0f, 4.5f, -83.0f, -3e38f, kBan};
  const double least = exp_in_range(-87.0f);
  for (const RowLoops& loops : {plain_row_loops(), row_loops()})
    CHECK(loops.sum_of_exps(row, 5, 5.0f) == 1.0 + exp_in_range(-0.5f) + least + least + least);
}

TEST_CASE("a value that no token can come from is seen at any place of a row", "[sampling]") {
  for (const RowLoops& loops : {plain_row_loops(), row_loops()})
    for (const float wrong :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
      for (size_t at = 0; at < 70; ++at) {
        Row row(70, 0.5f);
        row[at] = wrong;
        bool bad = false;
        loops.max(row.data(), row.size(), bad);
        CHECK(bad);
      }
}
