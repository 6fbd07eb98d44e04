// Attention against double precision, and equal bits on every instruction set.
#include "attend_support.h"

using namespace attend_test;

namespace {

void check(const State& s, const Query& query) {
  const std::vector<double> want = oracle(s, query);
  std::vector<float> first;
  for (const VecRow* row : rows()) {
    const std::vector<float> got = run(*row, s, query);
    if (first.empty()) first = got;
    INFO(row->isa << " type " << s.type << " n " << s.n << " dk " << s.dk << " dv " << s.dv << " rows "
                  << query.rows());
    CHECK(worst_error(got, want) < 3e-6);
    CHECK(same_bits(first, got));
  }
}

}  // namespace

TEST_CASE("attention over each state type and head size", "[attend]") {
  struct Size {
    int64_t dk, dv;
  };
  for (const int32_t type : {kKvF32, kKvF16, kKvBf16, kKvQ8, kKvQ4}) {
    for (const Size size :
         {Size{1, 1}, Size{8, 8}, Size{16, 16}, Size{64, 64}, Size{80, 80}, Size{96, 96}, Size{128, 128},
          Size{192, 128}, Size{24, 40}, Size{33, 17}, Size{256, 256}, Size{300, 20}, Size{520, 24}}) {
      const State s(*rows()[0], type, 45, size.dk, size.dv, 3);
      check(s, causal(s, 7, 3, 0, 4));
    }
  }
}

TEST_CASE("attention with any number of rows", "[attend]") {
  const State s(*rows()[0], kKvF16, 70, 32, 48, 5);
  for (int64_t tokens = 1; tokens <= 27; ++tokens) check(s, causal(s, tokens, 1, 0, 6));
}

TEST_CASE("attention across the borders of pages and splits", "[attend]") {
  for (const int32_t type : {kKvF16, kKvQ8, kKvQ4})
    for (const int64_t n : {1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 300, 511, 512, 513, 800}) {
      const State s(*rows()[0], type, n, 16, 16, 7);
      check(s, causal(s, std::min<int64_t>(n, 20), 2, 0, 8));
    }
}

TEST_CASE("attention through a window, with absent pages before it", "[attend]") {
  for (const int64_t window : {1, 5, 31, 33, 100, 257, 400}) {
    State s(*rows()[0], window % 2 ? kKvBf16 : window % 4 ? kKvQ8 : kKvQ4, 700, 24, 24, 9);
    const Query query = causal(s, 40, 2, window, 10);
    const int64_t lowest = *std::min_element(query.first.begin(), query.first.end());
    for (int64_t p = 0; p < lowest / 32; ++p) s.table[idx(p)] = nullptr;
    check(s, query);
  }
}

TEST_CASE("rows with unrelated ranges, and rows that see nothing", "[attend]") {
  const State s(*rows()[0], kKvF16, 600, 16, 20, 11);
  Query query = causal(s, 11, 2, 0, 12);
  const int64_t firsts[] = {0, 599, 300, 31, 32, 255, 256, 257, 10, 500, 64};
  const int64_t lasts[] = {0, 599, 310, 31, 63, 255, 256, 511, 9, 450, 95};
  for (size_t i = 0; i < 11; ++i) {
    query.first[2 * i] = firsts[i];
    query.last[2 * i] = lasts[i];
  }
  check(s, query);
  for (const VecRow* row : rows()) {
    const std::vector<float> got = run(*row, s, query);
    for (int64_t d = 0; d < s.dv; ++d) CHECK(got[idx(16 * s.dv + d)] == 0.0f);
  }
}

TEST_CASE("softcap and sinks", "[attend]") {
  const State s(*rows()[0], kKvF16, 300, 64, 64, 13);
  Query query = causal(s, 9, 4, 0, 14);
  query.scale = 1.0f;
  query.softcap = 20.0f;
  check(s, query);
  query.softcap = 0.0f;
  query.scale = 0.125f;
  query.sink = Source(15).many(query.rows(), -3.0f, 6.0f);
  check(s, query);
  query.softcap = 5.0f;
  query.last[3] = -1;  // a row with nothing but its sink
  query.first[3] = 0;
  check(s, query);
}

TEST_CASE("slopes over the distance of keys", "[attend]") {
  for (const int64_t window : {0, 37}) {
    const State s(*rows()[0], kKvF16, 600, 40, 24, 23);
    Query query = causal(s, 9, 4, window, 24);
    for (int64_t r = 0; r < query.rows(); ++r)
      query.slopes.push_back(std::exp2(-2.0f * static_cast<float>(r % 4 + 1)));
    check(s, query);
    query.softcap = 5.0f;
    check(s, query);
  }
}

TEST_CASE("large logits do not overflow", "[attend]") {
  const State s(*rows()[0], kKvF32, 520, 16, 16, 16);
  Query query = causal(s, 5, 3, 0, 17);
  query.scale = 30.0f;
  const std::vector<double> want = oracle(s, query);
  std::vector<float> first;
  for (const VecRow* row : rows()) {
    const std::vector<float> got = run(*row, s, query);
    if (first.empty()) first = got;
    CHECK(worst_error(got, want) < 3e-4);  // logits of some hundreds carry 1e-5 of rounding
    CHECK(same_bits(first, got));
  }
}

TEST_CASE("kv_store gives the same bits everywhere and touches only its slot", "[attend]") {
  for (const int32_t type : {kKvF32, kKvF16, kKvBf16}) {
    std::vector<std::vector<uint8_t>> first;
    for (const VecRow* row : rows()) {
      State s(*row, type, 40, 19, 35, 18);
      s.k[3] = 1e-7f, s.k[4] = 70000.0f, s.k[5] = 3.4e38f, s.v[0] = NAN, s.v[1] = -1e-41f,
      s.v[2] = 1.00390625f;
      std::vector<std::vector<uint8_t>> before = s.pages;
      s.put(*row, 0);
      if (first.empty()) first = s.pages;
      INFO(row->isa << " type " << type);
      CHECK(s.pages == first);
      CHECK(std::isnan(s.v[0]));
      if (type == kKvBf16) CHECK(s.v[2] == 1.0f);  // a tie goes to the even side
      before[0] = s.pages[0];
      CHECK(s.pages == before);
      for (size_t i = 40 % 32; i < 32; ++i) {  // slots that were never written
        CHECK(s.pages[1][static_cast<size_t>(s.k_offset) + i * value_bytes(type)] == 0xFF);
      }
    }
  }
}

TEST_CASE("8-bit state is the nearest code under a scale for each token", "[attend]") {
  for (const VecRow* row : rows()) {
    INFO(row->isa);
    for (const float size : {1e-12f, 1e-6f, 0.37f, 1.0f, 250.0f, 60000.0f, 4e6f}) {
      State s(*row, kKvQ8, 40, 19, 35, 18);
      std::vector<float> k(19), v(35);
      for (size_t i = 0; i < 19; ++i) k[i] = size * (0.1f * static_cast<float>(i) - 0.9f);
      for (size_t i = 0; i < 35; ++i) v[i] = size * std::sin(static_cast<float>(i));
      std::copy(k.begin(), k.end(), s.k.begin() + 33 * 19);
      std::copy(v.begin(), v.end(), s.v.begin() + 33 * 35);
      s.put(*row, 33);
      uint16_t scale;
      std::memcpy(&scale, s.pages[1].data() + s.k_offset + 19 * 32 + 2, 2);
      const float step = half_to_float(scale);
      CHECK(step * 127.0f >= 0.9f * size);
      CHECK(step <= 0.9f * size / 127.0f * 1.001f + 6e-8f);
      for (size_t i = 0; i < 19; ++i) CHECK(std::abs(s.k[33 * 19 + i] - k[i]) <= 0.501f * step);
      for (size_t i = 0; i < 35; ++i) CHECK(std::abs(s.v[33 * 35 + i] - v[i]) <= 0.0041f * size + 6e-8f);
    }
    State s(*row, kKvQ8, 40, 19, 35, 18);
    std::fill_n(s.k.begin(), 19, 0.0f);
    s.v[2] = NAN;
    s.v[35] = INFINITY;
    s.put(*row, 0);
    s.put(*row, 1);
    for (size_t i = 0; i < 19; ++i) CHECK(s.k[i] == 0.0f);
    CHECK(std::isnan(s.v[0]));
    CHECK(std::isnan(s.v[36]));
    // What is common to all keys is taken from them first.
    std::vector<float> key(19), center(19), value(35);
    for (size_t i = 0; i < 19; ++i) center[i] = 1000.0f + static_cast<float>(i), key[i] = center[i] + 0.25f;
    std::vector<uint8_t> plain(idx(35 + 19) * 40), taken = plain;
    std::vector<float> rest(19, 0.25f);
    const auto put = [&](std::vector<uint8_t>& to, const std::vector<float>& k, const float* c) {
      const KvStoreArgs args{kKvQ8, 19, 35, 3, k.data(), value.data(), to.data(), to.data() + 19 * 32 + 64,
                             c};
      row->kv_store(&args);
    };
    put(plain, rest, nullptr);
    put(taken, key, center.data());
    CHECK(plain == taken);
  }
}

TEST_CASE("8-bit state is stored with the same bits everywhere, in its slot alone", "[attend]") {
  std::vector<std::vector<uint8_t>> first;
  for (const VecRow* row : rows()) {
    State s(*row, kKvQ8, 40, 70, 35, 18);
    if (first.empty()) first = s.pages;
    INFO(row->isa);
    CHECK(s.pages == first);
    std::vector<std::vector<uint8_t>> before = s.pages;
    s.put(*row, 33);  // what was rounded is not rounded again
    before[0] = s.pages[0];
    for (size_t i = 40 % 32; i < 32; ++i) CHECK(s.pages[1][static_cast<size_t>(s.k_offset) + i] == 0xFF);
    CHECK(s.pages[0] == before[0]);
  }
}
