// Recurrent parts: a step reads one snapshot and writes others, and going back finds the last one that is
// kept.
#include <cstring>
#include <vector>

#include "kv/support.h"

using namespace ingle;
using namespace ingle::kv;

namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 30;

PartSpec recurrent_part() {
  return {.kind = PartKind::recurrent,
          .type = StateType::f32,
          .n_layers = 2,
          .n_kv_heads = 3,
          .dk = 4,
          .dv = 5,
          .window = 0};
}

int64_t read(const std::byte* data) {
  int64_t v;
  std::memcpy(&v, data, sizeof v);
  return v;
}

// A step as a backend makes it: each snapshot gets a number that tells its position and who wrote it.
void step(SequenceState& s, size_t part, int64_t writer) {
  for (const Snapshot& to : s.recurrent(part).to) {
    const int64_t value = writer * 1000000 + to.position;
    std::memcpy(to.data, &value, sizeof value);
  }
}
void extend_recurrent(SequenceState& s, const StatePool& pool, int64_t n, int64_t writer) {
  s.reserve(n);
  for (size_t i = 0; i < pool.parts().size(); ++i) {
    if (pool.parts()[i].kind == PartKind::recurrent)
      step(s, i, writer);
    else
      for (int64_t p = s.length(); p < s.length() + n; ++p)
        write_position(s, i, pool.parts()[i], p, static_cast<uint32_t>(p));
  }
  s.commit(n);
}
// What the next step would read.
int64_t current(SequenceState& s, size_t part = 0) {
  s.reserve(1);
  const std::byte* from = s.recurrent(part).from;
  const int64_t value = from ? read(from) : -1;
  s.commit(0);
  return value;
}

}  // namespace

TEST_CASE("a recurrent step reads what was committed and writes elsewhere", "[kv]") {
  const PartSpec part = recurrent_part();
  CHECK(part.tile_bytes() == 80);
  CHECK(part.page_bytes() == 480);
  CHECK(part.tile_offset(1, 2) == 400);
  StatePool pool(system_allocator(), {part}, kPlenty);
  SequenceState s(pool);
  CHECK(s.pages(0).empty());
  s.reserve(10);
  CHECK(s.recurrent(0).from == nullptr);
  REQUIRE(s.recurrent(0).to.size() == 1);
  CHECK(s.recurrent(0).to[0].position == 10);
  step(s, 0, 1);
  s.commit(10);
  CHECK(s.length() == 10);
  s.reserve(1);
  const RecurrentStep next = s.recurrent(0);
  REQUIRE(next.from != nullptr);
  CHECK(read(next.from) == 1000010);
  CHECK(next.from != next.to[0].data);
  step(s, 0, 2);
  s.commit(0);  // the step failed
  CHECK(current(s) == 1000010);
  CHECK(pool.bytes_in_use() == 480);
  extend_recurrent(s, pool, 1, 3);
  CHECK(current(s) == 3000011);
  CHECK(pool.bytes_in_use() == 480);  // what it read is not needed any more
}

TEST_CASE("a part of a reservation can be committed when each length was asked for", "[kv]") {
  StatePool pool(system_allocator(), {recurrent_part()}, kPlenty);
  SequenceState s(pool);
  extend_recurrent(s, pool, 3, 1);
  s.reserve(4);
  step(s, 0, 2);
  const Error e = error_of([&] { s.commit(2); });
  CHECK(e.code() == Code::invalid_argument);
  CHECK(e.message().find("2 of 4") != std::string::npos);
  CHECK(s.length() == 3);
  s.reserve(4, Commits::each);
  REQUIRE(s.recurrent(0).to.size() == 4);
  step(s, 0, 3);
  s.commit(2);
  CHECK(s.length() == 5);
  CHECK(current(s) == 3000005);
  CHECK(pool.bytes_in_use() == 480);
}

TEST_CASE("truncate goes back to the last kept snapshot and says to which", "[kv]") {
  StatePool pool(system_allocator(), {full_part(), recurrent_part()}, kPlenty);
  SequenceState s(pool);
  extend_recurrent(s, pool, 700, 1);  // keeps 256 and 512 on the way
  s.mark();
  for (int i = 0; i < 20; ++i) extend_recurrent(s, pool, 1, 2);
  SECTION("to the marked position") {
    CHECK(s.truncate(710) == 700);
    CHECK(s.length() == 700);
    CHECK(current(s, 1) == 1000700);
    CHECK(holds(s, 0, pool.parts()[0], 699, 699));
  }
  SECTION("to where it is") {
    CHECK(s.truncate(720) == 720);
    CHECK(current(s, 1) == 2000720);
  }
  SECTION("to one on the way, and to the start") {
    CHECK(s.truncate(699) == 512);
    CHECK(current(s, 1) == 1000512);
    CHECK(s.truncate(512) == 512);
    CHECK(s.truncate(511) == 256);
    CHECK(s.truncate(255) == 0);
    CHECK(current(s, 1) == -1);
    CHECK(pool.bytes_in_use() == 0);
  }
  SECTION("a truncate ends a reservation") {
    s.reserve(3);
    CHECK(s.truncate(720) == 720);
    CHECK(error_of([&] { s.commit(1); }).code() == Code::invalid_argument);
  }
}

TEST_CASE("kept snapshots stay few however long the sequence is", "[kv]") {
  const PartSpec part = recurrent_part();
  StatePool pool(system_allocator(), {part}, kPlenty);
  SequenceState s(pool);
  for (int i = 0; i < 400; ++i) {
    extend_recurrent(s, pool, 100, 1);
    s.mark();
  }
  CHECK(s.length() == 40000);
  CHECK(pool.bytes_in_use() <=
        13 * static_cast<uint64_t>(part.page_bytes()));  // 8, 4 marks, and the current one
  CHECK(s.truncate(39950) == 39900);
  const int64_t kept = s.truncate(30000);
  CHECK(kept >= 30000 - 8192);
  CHECK(current(s) == 1000000 + kept);
}

TEST_CASE("a fork shares snapshots, and each side goes its own way", "[kv]") {
  TestAllocator memory;
  StatePool pool(memory.get(), {recurrent_part()}, kPlenty);
  {
    SequenceState a(pool);
    extend_recurrent(a, pool, 300, 1);
    const uint64_t used = pool.bytes_in_use();
    a.reserve(1);
    step(a, 0, 2);
    SequenceState b = a.fork();  // the open reservation stays behind
    CHECK(pool.bytes_in_use() == used + 480);
    CHECK(b.recurrent(0).to.empty());
    a.commit(1);
    CHECK(current(b) == 1000300);
    extend_recurrent(b, pool, 1, 3);
    CHECK(current(a) == 2000301);
    CHECK(current(b) == 3000301);
    CHECK(b.truncate(300) == 256);
    CHECK(current(a) == 2000301);
    a = SequenceState(pool);
    CHECK(current(b) == 1000256);
  }
  CHECK(pool.bytes_in_use() == 0);
}

TEST_CASE("kept snapshots give way when the budget is short", "[kv]") {
  const auto page = static_cast<uint64_t>(recurrent_part().page_bytes());
  StatePool pool(system_allocator(), {recurrent_part()}, 3 * page);
  SequenceState s(pool);
  extend_recurrent(s, pool, 600, 1);  // 256, 512, 600
  CHECK(pool.bytes_in_use() == 3 * page);
  extend_recurrent(s, pool, 1, 2);
  CHECK(current(s) == 2000601);
  CHECK(s.truncate(600) == 0);
  extend_recurrent(s, pool, 2000, 3);  // those on the way do not fit: 2000 alone
  CHECK(current(s) == 3002000);
  SequenceState other(pool);
  extend_recurrent(other, pool, 1, 4);
  extend_recurrent(other, pool, 1, 4);
  SequenceState third(pool);
  extend_recurrent(third, pool, 1, 5);
  const Error e = error_of([&] { s.reserve(1); });
  CHECK(e.code() == Code::out_of_memory);
  CHECK(s.length() == 2000);
}

TEST_CASE("a recurrent part that cannot be is refused", "[kv]") {
  const auto refused = [](PartSpec part) {
    return error_of([&] { StatePool(system_allocator(), {part}, kPlenty); }).code() == Code::invalid_argument;
  };
  PartSpec half = recurrent_part();
  half.type = StateType::f16;
  CHECK(refused(half));
  PartSpec windowed = recurrent_part();
  windowed.window = 4;
  CHECK(refused(windowed));
  PartSpec huge = recurrent_part();
  huge.dk = huge.dv = int64_t{1} << 40;
  CHECK(refused(huge));
  StatePool pool(system_allocator(), {full_part()}, kPlenty);
  CHECK(error_of([&] { SequenceState(pool).recurrent(0); }).code() == Code::invalid_argument);
}
