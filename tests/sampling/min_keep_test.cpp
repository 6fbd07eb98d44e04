// Cuts that leave so many at least.
#include "sampling/rows.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

std::vector<int32_t> first(const std::vector<Candidate>& list, size_t n) {
  return ids_of({list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(n, list.size()))});
}

}  // namespace

TEST_CASE("a cut by logit leaves the first, so many at least or all that there are", "[sampling]") {
  const auto cuts = [] {
    std::vector<StagePtr> out;
    out.push_back(make_top_k(3));
    out.push_back(make_top_p(0.2f));
    out.push_back(make_min_p(0.5f));
    out.push_back(make_top_n_sigma(0.5f));
    out.push_back(make_top_a(0.7f));
    out.push_back(make_tail_free(0.3f));
    return out;
  };
  for (const Row& row : varied_rows()) {
    const auto all = sorted_list(row);
    for (const StagePtr& cut : cuts()) {
      CAPTURE(cut->name());
      const size_t alone = left_by(*cut, row).size();
      for (const int32_t n : {2, 5, 40, 1 << 20})
        REQUIRE(ids_of(left_by(make_at_least(cut->clone(), n), row)) ==
                first(all, std::max(alone, static_cast<size_t>(n))));
    }
  }
}

TEST_CASE("typical sampling leaves those nearest to the entropy, so many at least", "[sampling]") {
  for (const Row& row : varied_rows()) {
    const auto all = sorted_list(row);
    // With p rising, ids come in the order of their nearness.
    std::vector<int32_t> order, before;
    for (const float p : {0.0f, 0.1f, 0.3f, 0.6f, 0.9f}) {
      const auto kept = ids_of(left_by(make_typical(p), row));
      for (const int32_t n : {2, 5, 40}) {
        auto more = ids_of(left_by(make_typical(p, n), row));
        REQUIRE(more.size() >= std::min(static_cast<size_t>(n), all.size()));
        REQUIRE(more.size() == std::max(kept.size(), std::min(static_cast<size_t>(n), all.size())));
        for (const int32_t id : kept) REQUIRE(std::find(more.begin(), more.end(), id) != more.end());
        // Those of a larger share that has as many are the same.
        for (const float q : {0.2f, 0.4f, 0.5f, 0.7f, 0.95f})
          if (const auto other = ids_of(left_by(make_typical(q), row)); other.size() == more.size())
            REQUIRE(other == more);
      }
    }
    REQUIRE(ids_of(left_by(make_typical(0.1f, 1 << 20), row)) == ids_of(all));
  }
}

TEST_CASE("XTC removes nothing where too few would be left", "[sampling]") {
  for (const Row& row : varied_rows()) {
    const auto all = sorted_list(row);
    const auto cut = ids_of(left_by(make_xtc(1, 0.02f, 1), row));
    for (const int32_t n : {2, 5, 40, 1 << 20})
      REQUIRE(ids_of(left_by(make_xtc(1, 0.02f, 1, n), row)) ==
              (cut.size() >= static_cast<size_t>(n) ? cut : ids_of(all)));
  }
}

TEST_CASE("min_keep holds for every cut of a chain and is clipped to what there is", "[sampling]") {
  const Row row = {4, 3, 2, 1, 0};
  SamplerParams p;
  p.temperature = 1;
  p.top_k = 1;
  p.top_p = 0.01f;
  p.typical_p = 0.01f;
  p.min_p = 1;
  for (const auto& [n, wanted] : {std::pair{1, 1}, {3, 3}, {5, 5}, {1000, 5}}) {
    CAPTURE(n);
    p.min_keep = n;
    std::vector<bool> seen(row.size());
    for (uint64_t seed = 0; seed < 2000; ++seed) {
      p.seed = seed;
      seen[static_cast<size_t>(Chain(p).sample(row))] = true;
    }
    CHECK(std::count(seen.begin(), seen.end(), true) == wanted);
  }
  p.temperature = 0;  // the likeliest all the same
  CHECK(Chain(p).sample(row) == 0);
}
