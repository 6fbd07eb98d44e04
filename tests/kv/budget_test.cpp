// Running out, by budget and by allocator, leaves everything as it was.
#include <vector>

#include "kv/support.h"

using namespace ingle;
using namespace ingle::kv;

namespace {

uint64_t page_bytes(const PartSpec& p) { return static_cast<uint64_t>(p.page_bytes()); }

std::vector<const std::byte*> table_of(const SequenceState& s) {
  std::vector<const std::byte*> all;
  for (size_t i = 0; i < 2; ++i) all.insert(all.end(), s.pages(i).begin(), s.pages(i).end());
  return all;
}

}  // namespace

TEST_CASE("the budget is lent to the last page, and what does not fit leaves no trace", "[kv]") {
  const PartSpec a = full_part(), b = window_part(1000);
  const uint64_t budget = 2 * (page_bytes(a) + page_bytes(b)) + page_bytes(a);
  TestAllocator memory;
  StatePool pool(memory.get(), {a, b}, budget);
  CHECK(pool.budget_bytes() == budget);
  SequenceState s(pool);
  extend(s, pool, 50, 1);
  const auto before = table_of(s);
  const uint64_t used = pool.bytes_in_use();

  const Error e = error_of([&] { s.reserve(15); });  // a third page of part 1 does not fit
  CHECK(e.code() == Code::out_of_memory);
  CHECK(e.message().find(std::to_string(budget)) != std::string::npos);
  CHECK(table_of(s) == before);
  CHECK(pool.bytes_in_use() == used);
  CHECK(s.length() == 50);
  CHECK(error_of([&] { s.commit(1); }).code() == Code::invalid_argument);
  extend(s, pool, 14, 2);
  CHECK(s.length() == 64);

  SequenceState fork = s.fork();
  fork.truncate(33);
  CHECK(error_of([&] { fork.reserve(1); }).code() == Code::out_of_memory);  // copies do not fit either
  CHECK(holds(fork, 0, a, 32, 1));
  CHECK(pool.bytes_in_use() == used);
}

TEST_CASE("an earlier reservation stands when a larger one fails", "[kv]") {
  const PartSpec part = full_part();
  StatePool pool(system_allocator(), {part}, 2 * page_bytes(part));
  SequenceState s(pool);
  s.reserve(40);
  CHECK(error_of([&] { s.reserve(70); }).code() == Code::out_of_memory);
  s.commit(40);
  CHECK(s.length() == 40);
}

TEST_CASE("free pages of one part make room for another", "[kv]") {
  const PartSpec small = full_part(), large = full_part(StateType::f32);
  TestAllocator memory;
  StatePool pool(memory.get(), {small, window_part(1, StateType::f16), large}, 8 * page_bytes(large));
  for (int round = 0; round < 3; ++round) {
    for (const int64_t n : {32, 64, 96}) {
      SequenceState s(pool);
      s.reserve(n);
      CHECK(static_cast<uint64_t>(memory.live_bytes) <= pool.budget_bytes());
    }
    CHECK(pool.bytes_in_use() == 0);
  }
}

TEST_CASE("each call of the allocator may fail", "[kv]") {
  const PartSpec a = full_part(), b = window_part(40);
  int64_t k = 0;
  for (bool failed = true; failed; ++k) {
    TestAllocator memory;
    memory.fail_at = k;
    failed = false;
    {
      StatePool pool(memory.get(), {a, b}, uint64_t{1} << 30);
      SequenceState s(pool), t(pool);
      const auto attempt = [&](SequenceState& q, int64_t n) {
        const auto before = table_of(q);
        const uint64_t used = pool.bytes_in_use();
        try {
          extend(q, pool, n, 5);
        } catch (const Error& e) {
          failed = true;
          REQUIRE(e.code() == Code::out_of_memory);
          REQUIRE(table_of(q) == before);
          REQUIRE(pool.bytes_in_use() == used);
          extend(q, pool, n, 5);  // the allocator has memory again
        }
      };
      attempt(s, 70);
      t = s.fork();
      attempt(t, 30);
      attempt(s, 60);
      for (int64_t p = 90; p < 100; ++p) {
        REQUIRE(holds(t, 0, a, p, 5));
        REQUIRE(holds(t, 1, b, p, 5));
      }
    }
    REQUIRE(memory.live_bytes == 0);
  }
  CHECK(k > 8);  // every call has failed once
}
