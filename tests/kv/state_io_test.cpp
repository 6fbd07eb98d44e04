// States to records and back.
#include "kv/state_io.h"

#include <string>
#include <vector>

#include "kv/support.h"

using namespace ingle;
using namespace ingle::kv;

namespace {

constexpr uint64_t kPlenty = uint64_t{1} << 30;

PartSpec recurrent_part() { return {PartKind::recurrent, StateType::f32, 1, 2, 3, 4, 0}; }

std::string saved(const SequenceState& s) {
  std::string out;
  RecordWriter writer(
      [&](std::span<const std::byte> b) { out.append(reinterpret_cast<const char*>(b.data()), b.size()); });
  write_state(s, writer);
  return out;
}

SequenceState loaded(const StatePool& pool, const std::string& bytes) {
  size_t at = 0;
  RecordReader in(
      [&](std::span<std::byte> out) {
        if (out.size() > bytes.size() - at) return false;
        std::memcpy(out.data(), bytes.data() + at, out.size());
        at += out.size();
        return true;
      },
      "test");
  SequenceState s = read_state(pool, in);
  CHECK(at == bytes.size());
  return s;
}

// Writes `value` to every new position, and to every snapshot that is due.
void extend_all(SequenceState& s, const StatePool& pool, int64_t n, uint32_t value) {
  s.reserve(n);
  for (size_t i = 0; i < pool.parts().size(); ++i) {
    if (pool.parts()[i].kind == PartKind::recurrent) {
      for (const Snapshot& to : s.recurrent(i).to) {
        std::memset(to.data, static_cast<int>(value), static_cast<size_t>(pool.parts()[i].page_bytes()));
        std::memcpy(to.data, &to.position, sizeof to.position);
      }
      continue;
    }
    for (int64_t p = s.length(); p < s.length() + n; ++p) write_position(s, i, pool.parts()[i], p, value);
  }
  s.commit(n);
}

int64_t snapshot_position(const SequenceState& s, size_t part) {
  const std::byte* from = s.recurrent(part).from;
  int64_t v = 0;
  if (from) std::memcpy(&v, from, sizeof v);
  return v;
}

}  // namespace

TEST_CASE("a state comes back as it was", "[kv]") {
  const std::vector<PartSpec> parts{
      full_part(), window_part(40), recurrent_part(), full_part(StateType::q8), full_part(StateType::q4),
      tail_part()};
  const StatePool pool(system_allocator(), parts, kPlenty);
  const auto length = GENERATE(as<int64_t>(), 0, 1, 31, 32, 33, 64, 200);
  SequenceState s(pool);
  if (length > 0) extend_all(s, pool, length, 7);
  const std::string bytes = saved(s);
  const StatePool other(system_allocator(), parts, kPlenty);
  SequenceState back = loaded(other, bytes);
  REQUIRE(back.length() == length);
  for (int64_t p = 0; p < length; ++p) {
    CHECK(holds(back, 0, parts[0], p, 7));
    CHECK(holds(back, 3, parts[3], p, 7));
    CHECK(holds(back, 4, parts[4], p, 7));
    if (p >= seen_from(parts[5], length)) CHECK(holds(back, 5, parts[5], p, 7));
    if (p > length - 40) CHECK(holds(back, 1, parts[1], p, 7));
  }
  CHECK(snapshot_position(back, 2) == length);
  CHECK(saved(back) == bytes);
  extend_all(back, other, 50, 9);
  extend_all(s, pool, 50, 9);
  CHECK(saved(back) == saved(s));
}

TEST_CASE("what does not count is not written", "[kv]") {
  const PartSpec part = full_part();
  const StatePool pool(system_allocator(), {part}, kPlenty);
  SequenceState a(pool), b(pool);
  extend(a, pool, 40, 1);
  extend(b, pool, 60, 1);
  b.truncate(40);
  b.reserve(3);
  write_position(b, 0, part, 41, 5);
  CHECK(saved(a) == saved(b));
}

TEST_CASE("marked snapshots come along, and truncate finds them", "[kv]") {
  const StatePool pool(system_allocator(), {recurrent_part()}, kPlenty);
  SequenceState s(pool);
  extend_all(s, pool, 600, 1);
  s.mark();
  extend_all(s, pool, 20, 2);
  SequenceState back = loaded(pool, saved(s));
  CHECK(back.truncate(610) == 600);
  CHECK(snapshot_position(back, 0) == 600);
  CHECK(back.truncate(599) == 0);  // those on the way are not kept
}

TEST_CASE("a window of one token that was cut back", "[kv]") {
  const StatePool pool(system_allocator(), {window_part(1)}, kPlenty);
  SequenceState s(pool);
  extend(s, pool, 100, 1);
  s.truncate(50);
  CHECK(loaded(pool, saved(s)).length() == 50);
}

TEST_CASE("a state of other parts is refused by name", "[kv]") {
  const StatePool pool(system_allocator(), {full_part()}, kPlenty);
  SequenceState s(pool);
  extend(s, pool, 10, 1);
  const std::string bytes = saved(s);
  const StatePool wide(system_allocator(), {full_part(StateType::f32)}, kPlenty);
  const Error e = error_of([&] { loaded(wide, bytes); });
  CHECK(e.code() == Code::unsupported);
  CHECK(e.message().find("f16") != std::string::npos);
  CHECK(e.message().find("f32") != std::string::npos);
  const StatePool two(system_allocator(), {full_part(), full_part()}, kPlenty);
  CHECK(error_of([&] { loaded(two, bytes); }).code() == Code::unsupported);
}

TEST_CASE("a state that does not fit the budget leaves no page behind", "[kv]") {
  const PartSpec part = full_part();
  const StatePool pool(system_allocator(), {part}, kPlenty);
  SequenceState s(pool);
  extend(s, pool, 100, 1);
  const std::string bytes = saved(s);
  const StatePool small(system_allocator(), {part}, 2 * static_cast<uint64_t>(part.page_bytes()));
  CHECK(error_of([&] { loaded(small, bytes); }).code() == Code::out_of_memory);
  CHECK(small.bytes_in_use() == 0);
  for (size_t n = 0; n < bytes.size(); n += 37) {
    CHECK(error_of([&] { loaded(pool, bytes.substr(0, n)); }).code() == Code::corrupt);
    CHECK(pool.bytes_in_use() == 4 * static_cast<uint64_t>(part.page_bytes()));
  }
}
