// 4-bit state: what its codes are, and that a page's keys wait for the page to be full.
#include "attend_support.h"

using namespace attend_test;

TEST_CASE("4-bit keys lie between the ends of their channel in a page", "[attend]") {
  for (const VecRow* row : rows()) {
    INFO(row->isa);
    for (const float size : {1e-3f, 1.0f, 250.0f}) {
      State s(*row, kKvQ4, 64, 19, 35, 30);
      for (int64_t t = 0; t < 64; ++t)
        for (int64_t d = 0; d < 19;
             ++d)  // channels that differ in place and width, and one that stands still
          s.k[idx(t * 19 + d)] =
              size * (static_cast<float>(9 * d) +
                      0.1f * static_cast<float>(d) * std::sin(static_cast<float>(t * (d + 3))));
      const std::vector<float> k = s.k;
      for (int64_t t = 0; t < 64; ++t) s.put(*row, t);
      for (int64_t t = 0; t < 64; ++t)
        for (int64_t d = 0; d < 19; ++d) {
          const float half_step = size * 0.2f * static_cast<float>(d) / 15.0f / 2.0f;
          const float rounding = std::abs(k[idx(t * 19 + d)]) * 0x1p-10f + 6e-8f;
          REQUIRE(std::abs(s.k[idx(t * 19 + d)] - k[idx(t * 19 + d)]) <= 1.02f * half_step + 2 * rounding);
          REQUIRE(std::abs(s.fine_k[idx(t * 19 + d)] - k[idx(t * 19 + d)]) <= rounding);
        }
    }
  }
}

TEST_CASE("4-bit values are the nearest code under a scale for each token", "[attend]") {
  for (const VecRow* row : rows()) {
    INFO(row->isa);
    for (const float size : {1e-3f, 1.0f, -250.0f, 4e4f}) {
      State s(*row, kKvQ4, 40, 19, 64, 31);
      std::vector<float> v(64);
      for (size_t i = 0; i < 64; ++i) v[i] = size * std::sin(static_cast<float>(i) + 1.0f);
      std::copy(v.begin(), v.end(), s.v.begin() + 33 * 64);
      s.put(*row, 33);
      const float step = std::abs(State::half(s.pages[1].data() + s.v_offset + 32 * q4_row(64), 1));
      double error = 0;
      for (size_t i = 0; i < 64; ++i) error += std::pow(s.v[33 * 64 + i] - v[i], 2);
      // Turning keeps sums of squares. The end that is not -8 may be cut by up to a step.
      CHECK(std::sqrt(error / 64) <= 0.5f * step);
      std::vector<float> turned = v;
      State::turn(turned.data(), 64);
      float largest = 0;
      for (const float x : turned) largest = std::max(largest, std::abs(x));
      CHECK(step * 8 == Approx(largest).epsilon(1e-3));
    }
  }
}

TEST_CASE("what is no number is not lost in 4-bit codes", "[attend]") {
  for (const VecRow* row : rows()) {
    INFO(row->isa);
    State s(*row, kKvQ4, 33, 19, 35, 32);
    s.v[2] = NAN;
    s.v[35] = INFINITY;
    s.k[19 * 4 + 7] = 1e30f;  // no f16
    s.k[19 * 9 + 8] = NAN;
    for (int64_t t = 0; t < 32; ++t) s.put(*row, t);
    CHECK(std::isnan(s.v[0]));
    CHECK(std::isnan(s.v[36]));
    CHECK(std::isfinite(s.v[70]));
    for (int64_t t = 0; t < 32; ++t) {
      CHECK(std::isnan(s.k[idx(t * 19 + 7)]));
      CHECK(std::isnan(s.k[idx(t * 19 + 8)]));
      CHECK(std::isfinite(s.k[idx(t * 19 + 6)]));
    }
  }
}

TEST_CASE("4-bit state is stored with the same bits everywhere, in its slot alone", "[attend]") {
  std::vector<std::vector<uint8_t>> first, first_fine;
  for (const VecRow* row : rows()) {
    const State s(*row, kKvQ4, 40, 70, 35, 18);
    if (first.empty()) first = s.pages, first_fine = s.fine;
    INFO(row->isa);
    CHECK(s.pages == first);
    CHECK(s.fine == first_fine);
    // The second page is not full: it has no keys yet, and no values past its tokens.
    for (int64_t i = s.k_offset; i < s.v_offset; ++i) CHECK(s.pages[1][idx(i)] == 0xFF);
    for (int64_t i = 8 * q4_row(35); i < 32 * q4_row(35); ++i) CHECK(s.pages[1][idx(s.v_offset + i)] == 0xFF);
    for (int64_t i = 8; i < 32; ++i) CHECK(s.fine[1][idx(2 * i)] == 0xFF);
  }
}

TEST_CASE("a query of a page sees that page's own keys unrounded", "[attend]") {
  for (const VecRow* row : rows()) {
    State s(*row, kKvQ4, 64, 16, 16, 33);
    const Query query = causal(s, 64, 1, 0, 34);
    const std::vector<float> before = run(*row, s, query);
    for (int64_t i = s.k_offset; i < s.v_offset; ++i) s.pages[1][idx(i)] ^= 0x55;  // nobody ends later
    CHECK(same_bits(before, run(*row, s, query)));
    for (int64_t i = s.k_offset; i < s.k_offset + 16 * 16; ++i) s.pages[0][idx(i)] ^= 0x55;
    const std::vector<float> after = run(*row, s, query);
    INFO(row->isa);
    const auto same = [&](int64_t r) {
      return std::equal(before.begin() + r * 16, before.begin() + (r + 1) * 16, after.begin() + r * 16);
    };
    for (int64_t r = 0; r < 64; ++r) CHECK(same(r) == (r < 32));
  }
}
