// The draw at the exact bounds of the cumulative distribution, and what it depends on.
#include "core/random.h"
#include "sampling/select.h"
#include "sampling/support.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

// The first candidate of the sorted list whose cumulative weight exceeds the point.
int32_t plain_draw(const Row& row, uint64_t seed, uint64_t n) {
  const auto list = sorted_list(row);
  const auto w = weights_of(list);
  uint64_t total = 0;
  for (const uint64_t x : w) total += x;
  auto point = static_cast<uint64_t>(static_cast<double>(uniform(seed, n)) * static_cast<double>(total));
  size_t i = 0;
  while (point >= w[i]) point -= w[i++];
  return list[i].id;
}

int32_t draw_from(Stage& draw, const Row& row) { return left_by(draw, row).at(0).id; }

}  // namespace

TEST_CASE("an item is reached from its lower bound up to its upper one", "[sampling]") {
  std::mt19937 random(11);
  for (const size_t n : {1u, 3u, 64u, 65u, 400u, 3000u}) {
    for (const uint32_t n_keys : {1u, 2u, 7u, 100000u}) {
      std::vector<Weighted> items(n);
      for (size_t i = 0; i < n; ++i)
        items[i] = {std::ldexp(static_cast<double>(random() % n_keys), static_cast<int>(random() % 2) * 90),
                    static_cast<int32_t>(i), random() % 5};
      items[n / 2].weight = 3;
      auto sorted = items;
      std::sort(sorted.begin(), sorted.end(),
                [](const Weighted& a, const Weighted& b) { return ranks_before(a, b); });
      uint64_t sum = 0;
      for (const Weighted& w : sorted) {
        if (w.weight == 0) continue;
        for (const uint64_t target : {sum, sum + w.weight - 1}) {
          if (n > 400 && random() % 20) continue;
          auto copy = items;
          REQUIRE(reach(copy, target).id == w.id);
        }
        sum += w.weight;
      }
    }
  }
}

TEST_CASE("the draw is the inverse of the cumulative distribution", "[sampling]") {
  for (const size_t n : {1u, 5u, 64u, 200u, 3000u}) {
    for (const int steps : {0, 2}) {
      const Row row = random_row(static_cast<uint32_t>(n) + 1, n, steps);
      const StagePtr draw = make_draw(42);
      for (uint64_t i = 0; i < 100; ++i) {
        REQUIRE(draw_from(*draw, row) == plain_draw(row, 42, i));
        draw->accept(0);
      }
    }
  }
}

TEST_CASE("a number depends on seed and position alone", "[sampling]") {
  const Row row(50, 1.0f);
  const StagePtr a = make_draw(1), b = make_draw(1), other = make_draw(2);
  std::vector<int32_t> drawn, drawn_other;
  for (int i = 0; i < 60; ++i) {
    drawn.push_back(draw_from(*a, row));
    drawn_other.push_back(draw_from(*other, row));
    REQUIRE(draw_from(*a, row) == drawn.back());  // until a token is accepted
    REQUIRE(draw_from(*b, row) == drawn.back());
    a->accept(3);
    b->accept(4);
    other->accept(3);
  }
  CHECK(drawn != drawn_other);

  const StagePtr copy = a->clone();
  a->rollback(25);
  for (size_t i = 35; i < 60; ++i) {
    REQUIRE(draw_from(*a, row) == drawn[i]);
    a->accept(0);
  }
  CHECK(draw_from(*copy, row) == draw_from(*a, row));
  a->rollback(1000);
  CHECK(draw_from(*a, row) == drawn[0]);
}
