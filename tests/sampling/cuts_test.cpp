// Top-n-sigma, top-a, tail-free and XTC against their published formulas over a full sort.
#include "core/random.h"
#include "sampling/rows.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

std::vector<int32_t> first(const std::vector<Candidate>& list, size_t n) {
  return ids_of({list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(n, list.size()))});
}

}  // namespace

TEST_CASE("top-n-sigma keeps logits within n standard deviations of the highest", "[sampling]") {
  for (const Row& row : varied_rows()) {
    const auto all = sorted_list(row);
    double mean = 0, variance = 0;
    for (const Candidate& c : all) mean += c.logit / static_cast<double>(all.size());
    for (const Candidate& c : all)
      variance += (c.logit - mean) * (c.logit - mean) / static_cast<double>(all.size());
    for (const float n : {0.1f, 0.5f, 1.0f, 2.0f, 1000.0f}) {
      size_t kept = 0;
      while (kept < all.size() && all[kept].logit >= all[0].logit - n * std::sqrt(variance)) ++kept;
      REQUIRE(ids_of(left_by(make_top_n_sigma(n), row)) == first(all, std::max<size_t>(kept, 1)));
    }
    REQUIRE(left_by(make_top_n_sigma(0), row).size() == all.size());
  }
}

TEST_CASE("top-a keeps at least a times the square of the highest probability", "[sampling]") {
  for (const Row& row : varied_rows()) {
    const auto all = sorted_list(row);
    const auto p = softmax(all);
    for (const float a : {0.01f, 0.2f, 0.7f, 1.0f}) {
      size_t kept = 0;
      while (kept < all.size() && p[kept] >= a * p[0] * p[0] * (1 - 1e-12)) ++kept;
      REQUIRE(ids_of(left_by(make_top_a(a), row)) == first(all, kept));
    }
    REQUIRE(left_by(make_top_a(0), row).size() == all.size());
  }
}

TEST_CASE("tail-free cuts where the second differences have added up to z", "[sampling]") {
  for (const Row& row : varied_rows()) {
    const auto all = sorted_list(row);
    std::vector<double> p;
    for (const uint64_t w : weights_of(all)) p.push_back(static_cast<double>(w));
    std::vector<double> bends;
    for (size_t i = 0; i + 2 < p.size(); ++i)
      bends.push_back(std::fabs(std::fabs(p[i] - p[i + 1]) - std::fabs(p[i + 1] - p[i + 2])));
    double total = 0;
    for (const double b : bends) total += b;
    for (const float z : {0.0f, 0.3f, 0.9f, 0.95f, 0.999f}) {
      size_t kept = all.size();
      if (total > 0) {
        double sum = 0;
        kept = 1;  // the first stands; another for each bend within z
        for (const double b : bends) {
          sum += b;
          if (sum > static_cast<double>(z) * total) break;
          ++kept;
        }
      }
      REQUIRE(ids_of(left_by(make_tail_free(z), row)) == first(all, kept));
    }
    REQUIRE(left_by(make_tail_free(1), row).size() == all.size());
  }
}

TEST_CASE("XTC leaves the least likely of the top choices", "[sampling]") {
  for (const Row& row : varied_rows()) {
    const auto all = sorted_list(row);
    const auto p = softmax(all);
    for (const float threshold : {0.0f, 0.02f, 0.1f, 0.4f, 1.0f}) {
      size_t top = 0;
      while (top < all.size() && p[top] >= threshold && (threshold > 0 || top + 1 < all.size())) ++top;
      if (threshold == 0) continue;
      const size_t cut = top > 1 ? top - 1 : 0;
      const std::vector<Candidate> want(all.begin() + static_cast<std::ptrdiff_t>(cut), all.end());
      REQUIRE(ids_of(left_by(make_xtc(1, threshold, 3), row)) == ids_of(want));
      REQUIRE(left_by(make_xtc(0, threshold, 3), row).size() == all.size());
    }
    REQUIRE(!left_by(make_xtc(1, 0, 3), row).empty());  // all are top choices: one stays
  }
}

TEST_CASE("XTC happens as often as asked, by seed and position alone", "[sampling]") {
  const Row row = {1.0f, 1.0f, 1.0f};
  const auto acted = [&](const StagePtr& stage) { return left_by(stage, row).size() == 1; };
  const StagePtr a = make_xtc(0.3f, 0.1f, 7), b = make_xtc(0.3f, 0.1f, 7), other = make_xtc(0.3f, 0.1f, 8);
  std::vector<bool> seen, seen_other;
  for (int i = 0; i < 4000; ++i) {
    seen.push_back(acted(a));
    REQUIRE(acted(a) == seen.back());
    REQUIRE(acted(b) == seen.back());
    seen_other.push_back(acted(other));
    a->accept(0);
    b->accept(2);
    other->accept(0);
  }
  CHECK(seen != seen_other);
  const auto share = static_cast<double>(std::count(seen.begin(), seen.end(), true)) / 4000;
  CHECK(std::fabs(share - 0.3) < 0.03);  // more than four standard deviations
  const StagePtr copy = a->clone();
  a->rollback(100);
  for (size_t i = 3900; i < 4000; ++i) {
    REQUIRE(acted(a) == seen[i]);
    a->accept(1);
  }
  CHECK(acted(copy) == acted(a));
}

TEST_CASE("no cut empties the candidates or changes their order", "[sampling]") {
  const auto stages = [] {
    std::vector<StagePtr> all;
    for (const float x : {1e-9f, 0.01f, 0.5f, 0.99f, 1.0f}) {
      all.push_back(make_top_n_sigma(x));
      all.push_back(make_top_a(x));
      all.push_back(make_tail_free(1 - x));
      all.push_back(make_top_p(x));
      all.push_back(make_min_p(x));
      all.push_back(make_typical(x));
      all.push_back(make_xtc(1, x, 5));
    }
    return all;
  }();
  std::vector<Row> rows = varied_rows();
  rows.push_back({3e38f, -3e38f, 3e38f, 0.0f});
  rows.push_back({-3e38f});
  rows.push_back({-0.0f, 0.0f, -1e-45f});
  for (const Row& row : rows)
    for (const StagePtr& stage : stages) {
      CAPTURE(stage->name());
      Candidates c;
      c.build(row);
      stage->apply(c);
      REQUIRE(!c.list.empty());
      if (c.by_id)
        REQUIRE(std::is_sorted(c.list.begin(), c.list.end(),
                               [](const Candidate& a, const Candidate& b) { return a.id < b.id; }));
      const auto left = left_by(stage, row);
      for (const Candidate& x : left) REQUIRE(row[static_cast<size_t>(x.id)] == x.logit);
      if (stage->name() != "typical_p" && stage->name() != "xtc")
        REQUIRE(ids_of(left) == first(sorted_list(row), left.size()));  // a prefix: ties to the lowest id
    }
}
