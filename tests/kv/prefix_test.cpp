// The prefix index: what was computed is found again by its tokens, and nothing else is.
#include "kv/prefix_index.h"

#include <algorithm>
#include <map>
#include <random>

#include "kv/support.h"

using namespace ingle;
using namespace ingle::kv;

namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 30;

PartSpec recurrent_part() { return {PartKind::recurrent, StateType::f32, 1, 1, 4, 4, 0}; }

// What a position's state depends on: the tokens up to it and the space.
uint32_t chain(uint32_t before, int32_t token) {
  return (before ^ static_cast<uint32_t>(token)) * 2654435761u + 1;
}

std::vector<uint32_t> values_of(std::span<const int32_t> tokens, uint32_t seed) {
  std::vector<uint32_t> out;
  for (const int32_t t : tokens) out.push_back(seed = chain(seed, t));
  return out;
}

// Computes tokens past the state's length, as a model would: every position's bytes tell the whole prefix.
void compute(SequenceState& s, const StatePool& pool, std::span<const int32_t> tokens, uint32_t seed = 0,
             int64_t chunk = 100) {
  const std::vector<uint32_t> values = values_of(tokens, seed);
  while (s.length() < static_cast<int64_t>(tokens.size())) {
    const int64_t n = std::min(chunk, static_cast<int64_t>(tokens.size()) - s.length());
    s.reserve(n);
    for (size_t i = 0; i < pool.parts().size(); ++i) {
      if (pool.parts()[i].kind == PartKind::recurrent) {
        for (const Snapshot& to : s.recurrent(i).to)
          std::memcpy(to.data, &values[static_cast<size_t>(to.position - 1)], 4);
        continue;
      }
      for (int64_t p = s.length(); p < s.length() + n; ++p)
        write_position(s, i, pool.parts()[i], p, values[static_cast<size_t>(p)]);
    }
    s.commit(n);
  }
}

// Whether the state is that of its first tokens.
bool is_of(const SequenceState& s, const StatePool& pool, std::span<const int32_t> tokens,
           uint32_t seed = 0) {
  const std::vector<uint32_t> values = values_of(tokens, seed);
  for (size_t i = 0; i < pool.parts().size(); ++i) {
    const PartSpec& part = pool.parts()[i];
    if (part.kind == PartKind::recurrent) {
      const std::byte* from = s.recurrent(i).from;
      if (s.length() == 0 ? from != nullptr
                          : std::memcmp(from, &values[static_cast<size_t>(s.length() - 1)], 4) != 0)
        return false;
      continue;
    }
    const int64_t first = seen_from(part, s.length());
    for (int64_t p = first; p < s.length(); ++p)
      if (!holds(s, i, part, p, values[static_cast<size_t>(p)])) return false;
    for (int64_t p = s.length(); p % kPageTokens != 0; ++p)
      if (p >= s.length() && first < s.length() && !is_zero(s, i, part, p)) return false;
  }
  return true;
}

std::vector<int32_t> ids(int64_t n, int32_t seed = 1) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<int32_t> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<int32_t>(random() % 1000));
  return out;
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

PrefixKey space(const std::string& name) { return {name, {}}; }

struct Listener final : PrefixEvents {
  void stored(const StoredBlock& b) override {
    REQUIRE(b.tokens.size() == 32);
    REQUIRE((!b.parent || held.count(*b.parent) == 1));
    REQUIRE(held.emplace(b.hash, std::vector<int32_t>(b.tokens.begin(), b.tokens.end())).second);
  }
  void removed(const Digest& hash) override { REQUIRE(held.erase(hash) == 1); }
  void cleared() override { held.clear(); }
  std::map<Digest, std::vector<int32_t>> held;
};

}  // namespace

TEST_CASE("what was stored is found to the last token, also a part of it", "[kv]") {
  const std::vector<PartSpec> parts{full_part(), full_part(StateType::f32)};
  const StatePool pool(system_allocator(), parts, kPlenty);
  PrefixIndex index(pool);
  const std::vector<int32_t> prompt = ids(100);
  {
    SequenceState s(pool);
    compute(s, pool, prompt);
    index.store(prompt, space("a"), s);
  }
  const auto found = [&](const std::vector<int32_t>& tokens, const std::string& name = "a") {
    PrefixMatch m = index.match(tokens, space(name));
    CHECK(m.state.length() == m.n_matched);
    CHECK(is_of(m.state, pool, tokens));
    CHECK(m.n_matched == index.peek(tokens, space(name)));
    return m.n_matched;
  };
  CHECK(found(prompt) == 100);
  CHECK(found(joined(prompt, ids(50, 2))) == 100);
  CHECK(found(joined(ids(40), ids(50, 2))) == 40);
  CHECK(found(ids(64)) == 64);
  CHECK(found(ids(97)) == 97);
  CHECK(found(ids(3)) == 3);
  CHECK(found(ids(100, 2)) == 0);
  CHECK(found({}) == 0);
  CHECK(found(prompt, "b") == 0);
  CHECK(index.match(prompt, space("a"), 99).n_matched == 99);
  CHECK(index.match(prompt, space("a"), 0).n_matched == 0);
  const PrefixStats stats = index.stats();
  CHECK(stats.blocks == 4);
  CHECK(stats.bytes == pool.bytes_in_use());
  CHECK(stats.lookups == 11);
  CHECK(stats.tokens_hit == 100 + 100 + 40 + 64 + 97 + 3 + 99);
}

TEST_CASE("an adopted state goes its own way", "[kv]") {
  const StatePool pool(system_allocator(), {full_part(), window_part(40), recurrent_part()}, kPlenty);
  PrefixIndex index(pool);
  const std::vector<int32_t> prompt = ids(75);
  SequenceState s(pool);
  compute(s, pool, prompt);
  index.store(prompt, {}, s);
  const std::vector<int32_t> left = joined(prompt, ids(60, 2)), right = joined(prompt, ids(60, 3));
  SequenceState a = index.match(left, {}).state, b = index.match(right, {}).state;
  CHECK(a.length() == 75);
  compute(a, pool, left);
  compute(s, pool, right);
  compute(b, pool, right);
  CHECK(is_of(a, pool, left));
  CHECK(is_of(b, pool, right));
  CHECK(is_of(index.match(prompt, {}).state, pool, prompt));
  index.store(left, {}, a);
  index.store(right, {}, b);
  CHECK(index.match(left, {}).n_matched == 135);
  CHECK(is_of(index.match(right, {}).state, pool, right));
}

TEST_CASE("a match ends where every part can be taken over", "[kv]") {
  SECTION("recurrent states: at snapshots") {
    const StatePool pool(system_allocator(), {full_part(), recurrent_part()}, kPlenty);
    PrefixIndex index(pool);
    const std::vector<int32_t> prompt = ids(700);
    SequenceState s(pool);
    compute(s, pool, std::span(prompt).first(600), 0, 600);  // keeps 256 and 512 on the way
    s.mark();
    compute(s, pool, prompt, 0, 1);
    index.store(prompt, {}, s);
    CHECK(index.match(prompt, {}).n_matched == 700);
    CHECK(index.match(prompt, {}, 699).n_matched == 600);
    CHECK(index.match(prompt, {}, 599).n_matched == 512);
    CHECK(index.match(joined(ids(520), ids(200, 2)), {}).n_matched == 512);
    CHECK(index.match(joined(ids(511), ids(200, 2)), {}).n_matched == 256);
    CHECK(index.match(ids(255), {}).n_matched == 0);
    const PrefixMatch m = index.match(prompt, {}, 650);
    CHECK(is_of(m.state, pool, prompt));
  }
  SECTION("windows: where the pages are") {
    const StatePool pool(system_allocator(), {full_part(), window_part(50)}, kPlenty);
    PrefixIndex index(pool);
    const std::vector<int32_t> prompt = ids(320);
    SequenceState s(pool);
    compute(s, pool, prompt);  // the window holds pages from 256 on
    index.store(prompt, {}, s);
    CHECK(index.match(prompt, {}).n_matched == 320);
    CHECK(index.match(prompt, {}, 310).n_matched == 310);
    CHECK(index.match(prompt, {}, 290).n_matched == 0);  // would see 241 on
    const std::vector<int32_t> half = ids(200);
    SequenceState t(pool);
    compute(t, pool, half);
    index.store(half, {}, t);
    CHECK(index.match(half, {}).n_matched == 200);
    CHECK(index.match(prompt, {}, 290).n_matched == 192);  // the longer prompt's block has no window's page
    CHECK(is_of(index.match(prompt, {}, 215).state, pool, half));
  }
}

TEST_CASE("only the same tokens, media and space are found", "[kv]") {
  const StatePool pool(system_allocator(), {full_part()}, kPlenty);
  PrefixOptions options;
  options.hash_key = HashKey{1, 2};
  PrefixIndex index(pool, options);
  const std::vector<int32_t> prompt = ids(80);
  PrefixKey one = space("a"), two = space("a");
  one.media = {{40, sha256({})}};
  two.media = {{40, Sha256().add_value(1).finish()}};
  SequenceState s(pool);
  compute(s, pool, prompt);
  index.store(prompt, one, s);
  CHECK(index.match(prompt, one).n_matched == 80);
  CHECK(index.match(prompt, two).n_matched == 40);
  CHECK(index.match(prompt, space("a")).n_matched == 40);
  CHECK(index.match(prompt, space("")).n_matched == 0);
  index.store(prompt, two, s);
  CHECK(index.match(prompt, two).n_matched == 80);
  CHECK(index.match(prompt, one).n_matched == 80);
}

TEST_CASE("a partial block grows with what follows it", "[kv]") {
  const StatePool pool(system_allocator(), {full_part(), recurrent_part()}, kPlenty);
  PrefixIndex index(pool);
  const std::vector<int32_t> all = ids(100);
  SequenceState s(pool);
  for (const size_t n : {5u, 20u, 40u, 41u, 64u, 100u}) {
    compute(s, pool, std::span(all).first(n));
    index.store(std::span(all).first(n), {}, s);
    CHECK(index.match(all, {}).n_matched == static_cast<int64_t>(n));
  }
  CHECK(index.stats().blocks == 4);
  for (const int64_t n : {5, 20, 40, 41, 64, 100}) CHECK(index.match(all, {}, n).n_matched == n);
  CHECK(index.match(all, {}, 63).n_matched == 41);
}

TEST_CASE("the pool takes pages back, the least worth first, and never one that is in use", "[kv]") {
  const PartSpec part = full_part();
  const auto page = static_cast<uint64_t>(part.page_bytes());
  const StatePool pool(system_allocator(), {part}, 10 * page);
  int64_t now = 0;
  PrefixOptions options;
  options.now_us = [&now] { return now; };
  PrefixIndex index(pool, options);
  const auto put = [&](int32_t seed, int64_t n, Retention keep = {}) {
    const std::vector<int32_t> tokens = ids(n, seed);
    SequenceState s(pool);
    compute(s, pool, tokens);
    index.store(tokens, {}, s, keep);
  };
  const auto has = [&](int32_t seed, int64_t n) { return index.peek(ids(n, seed), {}); };
  put(1, 64);
  put(2, 64);
  put(3, 64);
  index.match(ids(64, 1), {});  // now 2 is the oldest
  put(4, 96);
  CHECK(pool.bytes_in_use() == 9 * page);
  put(5, 96);  // two pages are missing
  CHECK(has(2, 64) == 0);
  CHECK(has(1, 64) == 64);
  CHECK(has(3, 64) == 64);
  SECTION("pinned ones stay, until they are released or their time is over") {
    index.clear();
    CHECK(pool.bytes_in_use() == 0);
    put(1, 128, {Retention::kPinned});
    put(2, 128, {100});
    CHECK(error_of([&] { put(3, 96); }).code() == Code::out_of_memory);
    now = 101;
    put(3, 96);
    CHECK(has(1, 128) == 128);
    CHECK(has(2, 128) < 128);
    CHECK(error_of([&] { put(4, 224); }).code() == Code::out_of_memory);
    index.release(ids(128, 1), {});
    put(4, 224);
    CHECK(has(4, 224) == 224);
  }
  SECTION("what a sequence holds does not go") {
    const PrefixMatch m = index.match(ids(64, 1), {});
    put(6, 256);
    CHECK(is_of(m.state, pool, ids(64, 1)));
    CHECK(has(1, 64) == 64);
    SequenceState s(pool);
    CHECK(error_of([&] { s.reserve(32 * 9); }).code() == Code::out_of_memory);
    s.reserve(32 * 8);
    CHECK(has(6, 256) == 0);
  }
  SECTION("a match that has no page left for its partial end is shorter") {
    SequenceState s(pool);
    const std::vector<int32_t> tokens = ids(70, 9);
    compute(s, pool, tokens);
    index.store(tokens, {}, s);
    SequenceState rest(pool);
    rest.reserve(32 * 7);
    CHECK(index.match(tokens, {}).n_matched == 64);
  }
}

TEST_CASE("the index keeps to its own bound, and windows and snapshots go before their blocks", "[kv]") {
  const std::vector<PartSpec> parts{full_part(), window_part(33), recurrent_part()};
  uint64_t block = 0;
  for (const PartSpec& p : parts) block += static_cast<uint64_t>(p.page_bytes());
  const StatePool pool(system_allocator(), parts, kPlenty);
  PrefixOptions options;
  options.max_bytes = 6 * block;
  PrefixIndex index(pool, options);
  std::vector<int32_t> tokens;
  SequenceState s(pool);
  for (int turn = 0; turn < 12; ++turn) {
    tokens = joined(tokens, ids(32, turn));
    compute(s, pool, tokens);
    index.store(tokens, {}, s);
    CHECK(index.stats().bytes <= options.max_bytes);
    CHECK(is_of(index.match(tokens, {}).state, pool, tokens));
  }
  CHECK(index.stats().states_dropped > 0);
}

TEST_CASE("who listens knows what is there", "[kv]") {
  const PartSpec part = full_part();
  const StatePool pool(system_allocator(), {part}, 12 * static_cast<uint64_t>(part.page_bytes()));
  auto listener = std::make_shared<Listener>();
  PrefixOptions options;
  options.events = listener;
  {
    PrefixIndex index(pool, options);
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {
      const std::vector<int32_t> tokens =
          joined(ids(static_cast<int64_t>(random() % 120), static_cast<int32_t>(random() % 3)),
                 ids(static_cast<int64_t>(random() % 60), static_cast<int32_t>(random() % 9)));
      PrefixMatch m = index.match(tokens, {});
      compute(m.state, pool, tokens);
      index.store(tokens, {}, m.state);
    }
    Listener again;
    index.list(again);
    CHECK(again.held == listener->held);
    CHECK_FALSE(again.held.empty());
    CHECK(index.stats().blocks_evicted > 0);
  }
  CHECK(listener->held.empty());
  CHECK(pool.bytes_in_use() == 0);
}

// Against the plainest thing that could work: every prefix that was stored, in a list.
TEST_CASE("a match is never more than was stored, and never wrong", "[kv]") {
  const auto seed = static_cast<uint32_t>(GENERATE(range(0, 4)));
  const auto kind = GENERATE(0, 1, 2, 3, 4, 5);
  CAPTURE(seed, kind);
  const std::vector<std::vector<PartSpec>> all{{full_part()},
                                               {full_part(), window_part(45)},
                                               {recurrent_part()},
                                               {full_part(), window_part(7), recurrent_part()},
                                               {full_part(StateType::q4), tail_part()},
                                               {full_part(StateType::q4), tail_part(), recurrent_part()}};
  const std::vector<PartSpec>& parts = all[static_cast<size_t>(kind)];
  uint64_t block = 0;
  for (const PartSpec& p : parts) block += static_cast<uint64_t>(p.page_bytes());
  const bool plenty = seed % 2 == 0;
  const StatePool pool(system_allocator(), parts, plenty ? kPlenty : 60 * block);
  PrefixIndex index(pool);
  std::mt19937 random(seed);
  const auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  std::vector<std::pair<std::string, std::vector<int32_t>>> stored;
  uint64_t hits = 0;
  for (int step = 0; step < 300; ++step) {
    const std::string name(1, static_cast<char>('a' + pick(2)));
    const uint32_t value_seed = static_cast<uint32_t>(name[0]);
    std::vector<int32_t> tokens;
    if (!stored.empty() && pick(4) != 0) {
      tokens = stored[pick(stored.size())].second;
      tokens.resize(pick(tokens.size()) + 1);
    }
    for (size_t n = 1 + pick(70); n > 0; --n) tokens.push_back(static_cast<int32_t>(pick(3)));
    const auto most = static_cast<int64_t>(pick(2) ? tokens.size() - 1 : tokens.size());
    const int64_t seen_before = index.peek(tokens, space(name), most);
    PrefixMatch m = index.match(tokens, space(name), most);
    REQUIRE(m.n_matched <= seen_before);
    REQUIRE(is_of(m.state, pool, std::span(tokens).first(static_cast<size_t>(m.n_matched)), value_seed));
    int64_t possible = 0;  // the longest common prefix with what was stored
    bool whole = false;
    for (const auto& [in, prefix] : stored) {
      if (in != name) continue;
      const auto common =
          std::mismatch(tokens.begin(), tokens.end(), prefix.begin(), prefix.end()).first - tokens.begin();
      possible = std::max<int64_t>(possible, std::min<int64_t>(common, most));
      whole |= common == static_cast<int64_t>(prefix.size()) && common <= most && common == m.n_matched;
    }
    REQUIRE(m.n_matched <= possible);
    if (plenty && kind == 0) REQUIRE(m.n_matched == possible);
    hits += static_cast<uint64_t>(m.n_matched);
    try {
      compute(m.state, pool, tokens, value_seed, static_cast<int64_t>(1 + pick(90)));
    } catch (const Error& e) {
      REQUIRE(e.code() == Code::out_of_memory);
      continue;
    }
    index.store(tokens, space(name), m.state);
    stored.emplace_back(name, tokens);
    if (plenty) REQUIRE(index.peek(tokens, space(name)) == static_cast<int64_t>(tokens.size()));
    if (pick(60) == 0) {
      index.clear();
      stored.clear();
    }
  }
  CHECK(hits > (kind < 2 ? 1000u : 100u));
  CHECK(index.stats().tokens_hit == hits);
  index.clear();
  CHECK(pool.bytes_in_use() == 0);
}

TEST_CASE("a state of another pool, or of more tokens than given, is refused", "[kv]") {
  const StatePool pool(system_allocator(), {full_part()}, kPlenty),
      other(system_allocator(), {full_part()}, kPlenty);
  PrefixIndex index(pool);
  SequenceState s(other), t(pool);
  CHECK(error_of([&] { index.store({}, {}, s); }).code() == Code::invalid_argument);
  compute(t, pool, ids(10));
  CHECK(error_of([&] { index.store(ids(9), {}, t); }).code() == Code::invalid_argument);
}
