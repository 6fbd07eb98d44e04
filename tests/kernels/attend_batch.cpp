// A row's bits are its own: alone, in a batch, in another order of calls, beside states that are not finite.
#include "attend_support.h"

using namespace attend_test;

namespace {

std::vector<float> slice(const std::vector<float>& all, int64_t begin, int64_t end, int64_t dv) {
  return {all.begin() + begin * dv, all.begin() + end * dv};
}

}  // namespace

TEST_CASE("a row's result does not depend on the other rows", "[attend]") {
  for (const VecRow* row : rows()) {
    for (const int32_t type : {kKvF32, kKvF16, kKvBf16, kKvQ8, kKvQ4}) {
      for (const int64_t window : {0, 50}) {
        const State s(*row, type, 290, 64, 72, 20);
        Query query = causal(s, 40, 3, window, 21);
        query.softcap = window ? 8.0f : 0.0f;
        const std::vector<float> all = run(*row, s, query);
        INFO(row->isa << " type " << type << " window " << window);
        for (const int64_t step : {1, 2, 3, 5, 7, 12, 13, 31}) {
          for (int64_t r = 0; r < query.rows(); r += step) {
            const int64_t end = std::min(r + step, query.rows());
            REQUIRE(same_bits(run(*row, s, query, r, end), slice(all, r, end, s.dv)));
          }
        }
      }
    }
  }
}

TEST_CASE("decoding token by token equals the prefill", "[attend]") {
  for (const VecRow* row : rows())
    for (const int32_t type : {kKvF16, kKvQ4}) {
      const State s(*row, type, 270, 32, 32, 22);
      const int64_t heads = 3;
      const Query query = causal(s, s.n, heads, 0, 23);
      const std::vector<float> prefill = run(*row, s, query);
      State growing(*row, type, s.n, 32, 32, 22);
      Source source(22);  // what 4-bit state has stored is not what it was made of
      growing.k = source.many(s.n * 32, -2.0f, 2.0f);
      growing.v = source.many(s.n * 32, -1.0f, 1.0f);
      for (auto* pages : {&growing.pages, &growing.fine})
        for (auto& page : *pages) std::fill(page.begin(), page.end(), uint8_t{0xFF});
      for (int64_t t = 0; t < s.n; ++t) {  // what comes later is not there yet
        growing.put(*row, t);
        INFO(row->isa << " type " << type << " token " << t);
        REQUIRE(same_bits(run(*row, growing, query, t * heads, (t + 1) * heads),
                          slice(prefill, t * heads, (t + 1) * heads, s.dv)));
      }
    }
}

TEST_CASE("values that a row cannot see do not reach it, even when they are not finite", "[attend]") {
  for (const VecRow* row : rows()) {
    State s(*row, kKvF32, 64, 16, 16, 24);
    const Query query = causal(s, 30, 1, 9, 25);
    const std::vector<float> before = run(*row, s, query);
    const int64_t bad = 50;
    for (int64_t d = 0; d < s.dv; ++d) s.v[idx(bad * s.dv + d)] = d % 2 ? INFINITY : NAN;
    s.put(*row, bad);
    const std::vector<float> after = run(*row, s, query);
    for (int64_t r = 0; r < query.rows(); ++r) {
      const bool sees = query.first[idx(r)] <= bad && bad <= query.last[idx(r)];
      INFO(row->isa << " row " << r);
      CHECK(same_bits(slice(before, r, r + 1, s.dv), slice(after, r, r + 1, s.dv)) == !sees);
      if (sees) CHECK(row->all_finite(&after[idx(r * s.dv)], s.dv) == 0);
    }
  }
}

TEST_CASE("a NaN in a key or a query makes the row NaN", "[attend]") {
  for (const VecRow* row : rows()) {
    State s(*row, kKvF32, 40, 16, 16, 26);
    Query query = causal(s, 2, 1, 0, 27);
    s.k[idx(39 * s.dk + 3)] = NAN;
    s.put(*row, 39);
    const std::vector<float> got = run(*row, s, query);
    INFO(row->isa);
    CHECK(row->all_finite(got.data(), s.dv) == 1);
    CHECK(std::isnan(got[idx(s.dv)]));
  }
}
