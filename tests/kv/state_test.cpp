#include <cstdint>

#include "kv/support.h"

using namespace ingle;
using namespace ingle::kv;

namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 30;

size_t held_pages(const SequenceState& s, size_t part) {
  size_t n = 0;
  for (const std::byte* page : s.pages(part)) n += page != nullptr;
  return n;
}

}  // namespace

TEST_CASE("a page is laid out as the header says", "[kv]") {
  PartSpec p = full_part(StateType::f16);
  CHECK(p.tile_bytes() == (4 + 3) * 32 * 2);
  CHECK(p.page_bytes() == 4 * p.tile_bytes());
  CHECK(p.k_offset(1, 1) == 3 * p.tile_bytes());
  CHECK(p.v_offset(1, 0) == 2 * p.tile_bytes() + 4 * 32 * 2);
  CHECK(full_part(StateType::f32).tile_bytes() == 2 * p.tile_bytes());
  CHECK(full_part(StateType::bf16).tile_bytes() == p.tile_bytes());
  const PartSpec q8 = full_part(StateType::q8);  // a scale of two bytes for each token, of K and of V
  CHECK(q8.tile_bytes() == (4 + 2 + 3 + 2) * 32);
  CHECK(q8.v_offset(1, 0) == 2 * q8.tile_bytes() + (4 + 2) * 32);
  // Half a byte each, rows of whole runs of 16; a step and a middle for each channel of K, a scale for each
  // token of V.
  PartSpec q4 = full_part(StateType::q4);
  CHECK(q4.tile_bytes() == 4 * (16 + 4) + 32 * (8 + 2));
  CHECK(q4.v_offset(1, 0) == 2 * q4.tile_bytes() + 4 * (16 + 4));
  CHECK(tail_part().tile_bytes() == 4 * 32 * 2);
  q4.dk = q4.dv = p.dk = p.dv = 128;
  CHECK(static_cast<double>(q4.page_bytes()) / static_cast<double>(p.page_bytes()) < 0.286);
}

TEST_CASE("a bad part is refused with its number", "[kv]") {
  const auto bad = [](auto change) {
    PartSpec p = full_part();
    change(p);
    const Error e = error_of([&] { StatePool(system_allocator(), {full_part(), p}, kPlenty); });
    CHECK(e.code() == Code::invalid_argument);
    CHECK(e.where() == "state part 1");
  };
  bad([](PartSpec& p) { p.n_layers = 0; });
  bad([](PartSpec& p) { p.n_kv_heads = -1; });
  bad([](PartSpec& p) { p.dk = 0; });
  bad([](PartSpec& p) { p.dv = INT64_MAX; });
  bad([](PartSpec& p) { p.n_layers = p.dk = INT64_MAX; });
  bad([](PartSpec& p) { p.window = 5; });
  bad([](PartSpec& p) { p.kind = PartKind::window; });
  bad([](PartSpec& p) { p.kind = static_cast<PartKind>(9); });
  bad([](PartSpec& p) { p.type = static_cast<StateType>(9); });
  bad([](PartSpec& p) { p = tail_part(), p.dv = 3; });
  bad([](PartSpec& p) { p = tail_part(), p.type = StateType::f32; });
  bad([](PartSpec& p) { p = tail_part(), p.window = 5; });
}

TEST_CASE("pages come as they fill, aligned and zeroed, and go back", "[kv]") {
  TestAllocator memory;
  const PartSpec part = full_part();
  {
    StatePool pool(memory.get(), {part}, kPlenty);
    SequenceState s(pool);
    CHECK(pool.bytes_in_use() == 0);
    CHECK(s.pages(0).empty());
    s.reserve(33);
    CHECK(pool.bytes_in_use() == 2 * static_cast<uint64_t>(part.page_bytes()));
    for (int64_t p = 0; p < 64; ++p) CHECK(is_zero(s, 0, part, p));
    for (const std::byte* page : s.pages(0)) CHECK(reinterpret_cast<uintptr_t>(page) % 64 == 0);
    s.commit(3);  // the surplus page of the reservation goes back
    CHECK(s.length() == 3);
    CHECK(s.pages(0).size() == 1);
    CHECK(pool.bytes_in_use() == static_cast<uint64_t>(part.page_bytes()));

    const int64_t calls = memory.calls;
    const std::byte* page = s.pages(0)[0];
    for (int i = 3; i < 32; ++i) extend(s, pool, 1, 7);
    CHECK(memory.calls == calls);
    CHECK(s.pages(0)[0] == page);
    extend(s, pool, 1, 7);
    CHECK(memory.calls == calls);  // from the free list
    CHECK(s.pages(0).size() == 2);
    s.truncate(0);
    CHECK(pool.bytes_in_use() == 0);
    s.reserve(1);
    for (int64_t p = 0; p < 32; ++p) CHECK(is_zero(s, 0, part, p));  // a page used before
  }
  CHECK(memory.live_bytes == 0);
}

TEST_CASE("commit and truncate refuse what was not reserved or is not there", "[kv]") {
  StatePool pool(system_allocator(), {full_part()}, kPlenty);
  SequenceState s(pool);
  CHECK(error_of([&] { s.commit(1); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { s.reserve(-1); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { s.reserve(INT64_MAX); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { s.reserve(int64_t{1} << 40); }).code() == Code::out_of_memory);
  s.reserve(2);
  CHECK(error_of([&] { s.commit(3); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { s.commit(-1); }).code() == Code::invalid_argument);
  s.commit(2);
  CHECK(error_of([&] { s.commit(1); }).code() == Code::invalid_argument);  // the reservation has ended
  CHECK(error_of([&] { s.truncate(3); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { s.truncate(-1); }).code() == Code::invalid_argument);
  CHECK(error_of([&] { s.pages(1); }).code() == Code::invalid_argument);
  CHECK(s.length() == 2);
}

TEST_CASE("a reservation can be replaced, and truncate ends it", "[kv]") {
  StatePool pool(system_allocator(), {full_part()}, kPlenty);
  SequenceState s(pool);
  s.reserve(100);
  CHECK(s.pages(0).size() == 4);
  s.reserve(10);
  CHECK(s.pages(0).size() == 1);
  CHECK(error_of([&] { s.commit(11); }).code() == Code::invalid_argument);
  s.truncate(0);
  CHECK(pool.bytes_in_use() == 0);
  CHECK(error_of([&] { s.commit(1); }).code() == Code::invalid_argument);
}

TEST_CASE("a fork shares pages until one side writes", "[kv]") {
  const PartSpec part = full_part();
  const auto page = static_cast<uint64_t>(part.page_bytes());
  StatePool pool(system_allocator(), {part}, kPlenty);
  SequenceState a(pool);
  extend(a, pool, 40, 1);
  SequenceState b = a.fork();
  CHECK(b.length() == 40);
  CHECK(pool.bytes_in_use() == 2 * page);
  CHECK(b.pages(0)[1] == a.pages(0)[1]);
  b.reserve(0);
  CHECK(pool.bytes_in_use() == 2 * page);

  extend(b, pool, 1, 2);
  CHECK(pool.bytes_in_use() == 3 * page);
  CHECK(b.pages(0)[0] == a.pages(0)[0]);
  CHECK(b.pages(0)[1] != a.pages(0)[1]);
  CHECK(holds(b, 0, part, 39, 1));
  CHECK(holds(b, 0, part, 40, 2));

  const std::byte* own = a.pages(0)[1];  // nobody else holds it now
  extend(a, pool, 1, 3);
  CHECK(a.pages(0)[1] == own);
  CHECK(holds(a, 0, part, 40, 3));
  CHECK(holds(b, 0, part, 40, 2));
}

TEST_CASE("a copied page shows nothing that its parent wrote past the cut", "[kv]") {
  const PartSpec parts[] = {full_part(), full_part(StateType::f32)};
  StatePool pool(system_allocator(), {parts[0], parts[1]}, kPlenty);
  SequenceState a(pool);
  extend(a, pool, 60, 1);
  SequenceState b = a.fork();
  b.truncate(35);
  b.reserve(5);
  for (size_t i = 0; i < 2; ++i) {
    for (int64_t p = 0; p < 35; ++p) CHECK(holds(b, i, parts[i], p, 1));
    for (int64_t p = 35; p < 64; ++p) CHECK(is_zero(b, i, parts[i], p));
    for (int64_t p = 0; p < 60; ++p) CHECK(holds(a, i, parts[i], p, 1));
  }
}

TEST_CASE("a fork leaves an open reservation behind", "[kv]") {
  StatePool pool(system_allocator(), {full_part()}, kPlenty);
  SequenceState a(pool);
  extend(a, pool, 10, 1);
  a.reserve(60);
  const SequenceState b = a.fork();
  CHECK(b.pages(0).size() == 1);
  CHECK(a.pages(0).size() == 3);
  a.commit(60);
  CHECK(a.length() == 70);
}

TEST_CASE("a window gives back what no later query can see", "[kv]") {
  const int64_t window = GENERATE(1, 2, 31, 32, 33, 64, 100);
  const PartSpec part = window_part(window);
  StatePool pool(system_allocator(), {full_part(), part}, kPlenty);
  SequenceState s(pool);
  for (int64_t length = 1; length < 400; ++length) {
    extend(s, pool, 1, static_cast<uint32_t>(length - 1));
    CHECK(held_pages(s, 0) == static_cast<size_t>((length + 31) / 32));
    const int64_t seen_from = std::max<int64_t>(0, length - window + 1);
    for (int64_t p = seen_from; p < length; ++p) REQUIRE(holds(s, 1, part, p, static_cast<uint32_t>(p)));
    for (size_t p = 0; p < s.pages(1).size(); ++p)
      REQUIRE((s.pages(1)[p] == nullptr) == (static_cast<int64_t>(p) < seen_from / 32));
  }
}

TEST_CASE("truncate is refused below what a window part holds", "[kv]") {
  StatePool pool(system_allocator(), {full_part(), window_part(40)}, kPlenty);
  SequenceState s(pool);
  extend(s, pool, 200, 1);  // sees from 161 on: page 5 is the first held, that is position 160
  s.truncate(199);          // needs from 160 on
  const uint64_t before = pool.bytes_in_use();
  const Error e = error_of([&] { s.truncate(198); });
  CHECK(e.code() == Code::invalid_argument);
  CHECK(e.where() == "state part 1");
  for (const char* word : {"40", "199", "198", "160", "159"})
    CHECK(e.message().find(word) != std::string::npos);
  CHECK(s.length() == 199);
  CHECK(pool.bytes_in_use() == before);
  s.truncate(0);  // position 0 sees nothing before itself
  extend(s, pool, 1, 2);
  CHECK(holds(s, 1, pool.parts()[1], 0, 2));
}

TEST_CASE("a window of one token can go back anywhere", "[kv]") {
  StatePool pool(system_allocator(), {window_part(1)}, kPlenty);
  SequenceState s(pool);
  extend(s, pool, 100, 1);
  s.truncate(40);
  extend(s, pool, 1, 2);
  CHECK(holds(s, 0, pool.parts()[0], 40, 2));
  extend(s, pool, 60, 3);
  CHECK(held_pages(s, 0) == 1);  // the page that came back has gone again
  s.truncate(0);
  CHECK(pool.bytes_in_use() == 0);
}

TEST_CASE("without parts only the length counts", "[kv]") {
  StatePool pool(system_allocator(), {}, 0);
  SequenceState s(pool);
  s.reserve(1000);
  s.commit(900);
  s.truncate(800);
  CHECK(s.fork().length() == 800);
}

TEST_CASE("sequences may outlive the pool's handle", "[kv]") {
  TestAllocator memory;
  {
    auto pool = std::make_unique<StatePool>(memory.get(), std::vector{full_part()}, kPlenty);
    SequenceState a(*pool);
    extend(a, *pool, 40, 1);
    pool.reset();
    SequenceState b = a.fork();
    b.reserve(1);
    a = std::move(b);
    a.commit(1);
    CHECK(a.length() == 41);
  }
  CHECK(memory.live_bytes == 0);
}
