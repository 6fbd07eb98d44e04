// What goes with 4-bit state: the keys of the page that is being filled.
#include "kv/sizes.h"
#include "kv/support.h"

using namespace ingle;
using namespace ingle::kv;

namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 30;
const std::vector<PartSpec> kParts{full_part(StateType::q4), tail_part()};

std::vector<bool> held(const SequenceState& s) {
  std::vector<bool> out;
  for (const std::byte* page : s.pages(1)) out.push_back(page != nullptr);
  return out;
}

}  // namespace

TEST_CASE("a tail keeps the page that is filled and what the last 32 tokens lie in", "[kv]") {
  const StatePool pool(system_allocator(), kParts, kPlenty);
  SequenceState s(pool);
  extend(s, pool, 31, 1);
  CHECK(held(s) == std::vector<bool>{true});
  extend(s, pool, 2, 1);
  CHECK(held(s) == std::vector<bool>{true, true});
  extend(s, pool, 31, 1);
  CHECK(held(s) == std::vector<bool>{false, true});
  extend(s, pool, 1, 1);
  CHECK(held(s) == std::vector<bool>{false, true, true});
  s.reserve(100);  // a step has all of its own
  CHECK(held(s) == std::vector<bool>{false, true, true, true, true, true});
}

TEST_CASE("a truncate goes back to any place of the last 32 tokens, and else to where a page begins",
          "[kv]") {
  const StatePool pool(system_allocator(), kParts, kPlenty);
  for (int64_t n = 0; n <= 100; ++n) {
    CAPTURE(n);
    SequenceState s(pool);
    extend(s, pool, 100, 1);
    const int64_t there = n >= 64 ? n : n / 32 * 32;
    CHECK(s.truncate(n) == there);
    REQUIRE(s.length() == there);
    for (int64_t p = 0; p < there; ++p) CHECK((p % 32 == 31 || holds(s, 0, kParts[0], p, 1)));
    for (int64_t p = there / 32 * 32; p < there; ++p) CHECK(holds(s, 1, kParts[1], p, 1));
    extend(s, pool, 50, 2);
    for (int64_t p = 0; p < there + 50; ++p) CHECK(holds(s, 0, kParts[0], p, p < there ? 1 : 2));
  }
}

TEST_CASE("a page that is copied in part has no keys yet", "[kv]") {
  const StatePool pool(system_allocator(), kParts, kPlenty);
  SequenceState a(pool);
  extend(a, pool, 64, 1);
  SequenceState b = a.fork();
  REQUIRE(b.truncate(40) == 40);
  extend(b, pool, 1, 2);
  for (int64_t p = 32; p < 40; ++p) {
    CHECK(holds(b, 0, kParts[0], p, 1));
    CHECK(holds(b, 1, kParts[1], p, 1));
  }
  for (int64_t p = 41; p < 64; ++p) {  // the last one tells of the keys
    CHECK(is_zero(b, 0, kParts[0], p));
    CHECK(is_zero(b, 1, kParts[1], p));
  }
  for (int64_t p = 0; p < 64; ++p) CHECK(holds(a, 0, kParts[0], p, 1));
}

TEST_CASE("what a tail takes is foreseen", "[kv]") {
  for (const int64_t chunk : {1, 7, 32, 100, 512})
    for (const int64_t n : {1, 31, 32, 33, 100, 300}) {
      CAPTURE(chunk, n);
      const uint64_t foreseen = state_bytes(kParts, n, chunk);
      const StatePool pool(system_allocator(), kParts, foreseen);
      SequenceState s(pool);
      uint64_t most = 0;
      while (s.length() < n) {
        s.reserve(std::min(chunk, n - s.length()));
        most = std::max(most, pool.bytes_in_use());
        s.commit(std::min(chunk, n - s.length()));
      }
      CHECK(most <= foreseen);
      CHECK(most + 2 * static_cast<uint64_t>(kParts[1].page_bytes()) >= foreseen);
    }
}
