// Blocks that go to a folder and come back, or are computed again.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "kv/prefix_index.h"
#include "kv/support.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::kv;
using ingle::tests::TempDir;

namespace {

PartSpec recurrent_part() { return {PartKind::recurrent, StateType::f32, 1, 1, 4, 4, 0}; }

std::vector<int32_t> ids(int64_t n, int32_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<int32_t> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<int32_t>(random() % 1000));
  return out;
}

// Every position, and every snapshot, tells its number and the seed.
void compute(SequenceState& s, const StatePool& pool, int64_t n, uint32_t seed) {
  while (s.length() < n) {
    const int64_t step = std::min<int64_t>(32, n - s.length());
    s.reserve(step);
    for (size_t i = 0; i < pool.parts().size(); ++i) {
      if (pool.parts()[i].kind == PartKind::recurrent) {
        for (const Snapshot& to : s.recurrent(i).to) {
          const int64_t value = to.position * 100 + seed;
          std::memcpy(to.data, &value, sizeof value);
        }
        continue;
      }
      for (int64_t p = s.length(); p < s.length() + step; ++p)
        write_position(s, i, pool.parts()[i], p, static_cast<uint32_t>(p) * 100 + seed);
    }
    s.commit(step);
    s.mark();
  }
}
bool is_of(const SequenceState& s, const StatePool& pool, uint32_t seed) {
  for (size_t i = 0; i < pool.parts().size(); ++i) {
    const PartSpec& part = pool.parts()[i];
    if (part.kind == PartKind::recurrent) {
      int64_t value = 0;
      if (s.length() > 0) std::memcpy(&value, s.recurrent(i).from, sizeof value);
      if (s.length() > 0 && value != s.length() * 100 + seed) return false;
      continue;
    }
    for (int64_t p = seen_from(part, s.length()); p < s.length(); ++p)
      if (!holds(s, i, part, p, static_cast<uint32_t>(p) * 100 + seed)) return false;
  }
  return true;
}

// A pool of few pages over a folder.
struct Bench {
  explicit Bench(std::vector<PartSpec> specs, const std::string& folder, uint64_t max_bytes = 1 << 20,
                 Digest fingerprint = {})
      : parts(std::move(specs)), pool(system_allocator(), parts, 8 * block_bytes()) {
    DiskTierOptions o;
    o.folder = folder;
    o.max_bytes = max_bytes;
    o.fingerprint = fingerprint;
    o.now_us = [this] { return now += tick; };
    o.write_bytes_per_s = write_rate;
    tier = std::make_shared<DiskTier>(o);
    PrefixOptions p;
    p.tier = tier;
    p.cheaper_to_load = [this](int64_t start, int64_t n, uint64_t bytes) {
      asked = {start, n, static_cast<int64_t>(bytes)};
      return cheap;
    };
    index = std::make_unique<PrefixIndex>(pool, p);
  }
  uint64_t block_bytes() const {
    uint64_t bytes = 0;
    for (const PartSpec& p : parts) bytes += static_cast<uint64_t>(p.page_bytes());
    return bytes;
  }
  void put(int32_t seed, int64_t n = 96) {
    SequenceState s(pool);
    compute(s, pool, n, static_cast<uint32_t>(seed));
    index->store(ids(n, seed), {}, s);
  }
  int64_t match(int32_t seed, int64_t n = 96) {
    const PrefixMatch m = index->match(ids(n, seed), {});
    CHECK(is_of(m.state, pool, static_cast<uint32_t>(seed)));
    return m.n_matched;
  }

  static inline uint64_t write_rate = UINT64_MAX;
  std::vector<PartSpec> parts;
  StatePool pool;
  int64_t now = 0, tick = 0;
  std::shared_ptr<DiskTier> tier;
  std::unique_ptr<PrefixIndex> index;
  bool cheap = true;
  std::vector<int64_t> asked;
};

std::vector<std::string> block_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".block") out.push_back(entry.path().string());
  return out;
}

}  // namespace

TEST_CASE("what memory has no room for comes back from the disk", "[kv]") {
  const TempDir dir;
  const auto kind = GENERATE(0, 1, 2);
  Bench b(kind == 2   ? std::vector<PartSpec>{full_part(StateType::q4), tail_part()}
          : kind == 1 ? std::vector<PartSpec>{full_part(), recurrent_part()}
                      : std::vector<PartSpec>{full_part()},
          dir.path());
  for (int seed = 1; seed <= 6; ++seed) b.put(seed);
  CHECK(b.index->stats().blocks_spilled > 0);
  CHECK(b.index->peek(ids(96, 1), {}) == 0);
  CHECK(b.match(1) == 96);
  CHECK(b.asked[0] == 0);
  CHECK(b.asked[1] == 96);
  const auto block = kind == 2 ? b.parts[0].page_bytes() : static_cast<int64_t>(b.block_bytes());
  CHECK(b.asked[2] > 3 * block);  // a tail has let go of full blocks
  CHECK(b.match(1, 96) == 96);
  CHECK(b.match(6) == 96);
  CHECK(b.index->stats().blocks_loaded >= 3);
  b.cheap = false;
  CHECK(b.match(2) < 96);
  b.cheap = true;
  CHECK(b.match(2) == 96);
}

TEST_CASE("another run finds what was left, and another model does not", "[kv]") {
  const TempDir dir;
  {
    Bench b({full_part()}, dir.path());
    for (int seed = 1; seed <= 6; ++seed) b.put(seed);
  }
  {
    Bench b({full_part()}, dir.path());
    CHECK(b.tier->stats().blocks > 0);
    CHECK(b.match(1) == 96);
    CHECK(error_of([&] { Bench other({full_part()}, dir.path()); }).code() == Code::busy);
  }
  Bench b({full_part()}, dir.path(), 1 << 20, sha256({}));
  CHECK(b.match(1) == 0);
  CHECK(b.tier->stats().damaged == 1);
}

TEST_CASE("a damaged, missing or late block is computed again", "[kv]") {
  const TempDir dir;
  Bench b({full_part()}, dir.path());
  for (int seed = 1; seed <= 6; ++seed) b.put(seed);
  const auto files = block_files(dir.path());
  REQUIRE(files.size() > 3);
  SECTION("each byte of a file") {
    const std::string path = files[0];
    std::ifstream in(path, std::ios::binary);
    const std::string good{std::istreambuf_iterator<char>(in), {}};
    const Digest name = [&] {
      Digest d{};
      const std::string hex = std::filesystem::path(path).stem().string();
      for (size_t i = 0; i < 32; ++i)
        d[i] = static_cast<std::byte>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
      return d;
    }();
    std::vector<std::byte> page(static_cast<size_t>(b.parts[0].page_bytes()));
    const auto read = [&] {
      return b.tier->get(name, [&](const BlockPiece& p, uint64_t n) {
        return p.part == 0 && n == page.size() ? page.data() : nullptr;
      });
    };
    CHECK(read());
    const std::vector<std::byte> whole = page;
    for (size_t at = 0; at < good.size(); at += at < 200 ? 1 : 37) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      std::ofstream(path, std::ios::binary) << bad;
      CHECK_FALSE(read());
      CHECK(b.tier->size_of(name) == 0);  // gone
      b.tier->put(name, std::vector<BlockPiece>{{0, 0}}, std::vector<std::span<const std::byte>>{whole});
      CHECK(read());
    }
  }
  SECTION("torn or deleted files") {
    for (size_t i = 0; i < files.size(); ++i) {
      if (i % 2)
        std::filesystem::resize_file(files[i], 100);
      else
        std::filesystem::remove(files[i]);
    }
    for (int seed = 1; seed <= 6; ++seed) b.match(seed);
    CHECK(b.tier->stats().damaged > 0);
    CHECK(b.tier->stats().missing > 0);
    CHECK(b.index->stats().loads_failed > 0);
    CHECK(b.index->stats().blocks_loaded == 0);
  }
  SECTION("a slow disk") {
    b.tick = 2'000'000;
    CHECK(b.match(1) == 0);
    CHECK(b.tier->stats().late == 1);
    b.tick = 0;
    CHECK(b.match(1) == 96);
  }
  for (int seed = 1; seed <= 6; ++seed) {
    PrefixMatch m = b.index->match(ids(96, seed), {});
    compute(m.state, b.pool, 96, static_cast<uint32_t>(seed));
    CHECK(is_of(m.state, b.pool, static_cast<uint32_t>(seed)));
  }
}

TEST_CASE("the folder keeps to its bounds", "[kv]") {
  const TempDir dir;
  SECTION("of bytes") {
    Bench b({full_part()}, dir.path(), 5000);
    for (int seed = 1; seed <= 20; ++seed) b.put(seed);
    uint64_t bytes = 0;
    for (const auto& file : block_files(dir.path())) bytes += std::filesystem::file_size(file);
    CHECK(bytes <= 5000);
    CHECK(bytes == b.tier->stats().bytes);
    CHECK(b.tier->stats().removed > 0);
  }
  SECTION("of writing") {
    Bench::write_rate = 4000;
    Bench b({full_part()}, dir.path());
    Bench::write_rate = UINT64_MAX;
    for (int seed = 1; seed <= 20; ++seed) b.put(seed);
    CHECK(b.tier->stats().bytes <= 4000);
    CHECK(b.tier->stats().refused > 0);
    b.now += 1'000'000;
    for (int seed = 21; seed <= 30; ++seed) b.put(seed);
    CHECK(b.tier->stats().bytes > 4000);
    CHECK(b.tier->stats().bytes <= 8000);
  }
  SECTION("of a full disk") {
    Bench b({full_part()}, dir.path());
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit now{300, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &now) == 0);
    for (int seed = 1; seed <= 6; ++seed) b.put(seed);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, old_handler);
    CHECK(b.tier->stats().failed_writes > 0);
    CHECK(block_files(dir.path()).empty());
    CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);  // the lock
    CHECK(b.match(1) == 0);
    for (int seed = 7; seed <= 12; ++seed) b.put(seed);
    CHECK(b.match(7) == 96);
  }
}

TEST_CASE("a folder that cannot be used is an error", "[kv]") {
  const TempDir dir;
  DiskTierOptions o;
  o.folder = dir.path() + "/none";
  CHECK(error_of([&] { DiskTier{o}; }).code() == Code::io);
}
