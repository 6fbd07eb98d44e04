// The folder of packed weights: what comes back is what was put, and nothing that is in the folder can do
// more than be ignored.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "backends/cache/folder.h"
#include "core/error.h"
#include "formats/atomic_file.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;
using backends::CacheFolder;
using backends::CacheLayout;

namespace {

Digest key_of(int n) { return sha256(std::as_bytes(std::span(&n, 1))); }

struct Weights {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<uint64_t> sizes;
  explicit Weights(std::vector<uint64_t> of, uint8_t seed = 1) : sizes(std::move(of)) {
    uint32_t x = seed;
    for (const uint64_t n : sizes) {
      std::vector<std::byte>& w = bytes.emplace_back(n);
      for (std::byte& b : w) b = static_cast<std::byte>((x = x * 1664525 + 1013904223) >> 24);
    }
  }
  std::vector<std::span<const std::byte>> spans() const { return {bytes.begin(), bytes.end()}; }
};

struct Fixture {
  TempDir dir;
  std::string log;
  LogSink sink = [this](LogLevel, std::string_view text) { log += std::string(text) + "\n"; };
  ThreadPool pool{2};
  backends::CacheSettings settings{dir.path() + "/a/cache", uint64_t{1} << 30, 0};
  Weights weights{{100, 0, 3'000'000, 4096, 1}};
  CacheLayout layout{key_of(1), weights.sizes};
  CacheFolder folder{settings, sink, pool};

  bool write(const CacheLayout& to) const {
    return folder.write(to, weights.spans(), [](uint64_t) { return true; });
  }
  bool has(const CacheLayout& at) const {
    const ByteSourcePtr file = folder.open(at);
    if (!file) return false;
    for (size_t i = 0; i < weights.sizes.size(); ++i)
      REQUIRE(std::equal(weights.bytes[i].begin(), weights.bytes[i].end(), file->mapped() + at.offset(i)));
    return true;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    if (!std::filesystem::exists(settings.folder)) return out;
    for (const auto& e : std::filesystem::directory_iterator(settings.folder))
      out.push_back(e.path().string());
    return out;
  }
  std::string file() const {
    REQUIRE(files().size() == 1);
    return files().front();
  }
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}
void set_times(const std::string& path, int64_t used_s, int64_t written_s) {
  const timespec times[2] = {{used_s, 0}, {written_s, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}
int64_t written_s(const std::string& path) {
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mtim.tv_sec;
}

}  // namespace

TEST_CASE("a file of packed weights has one place for each byte", "[backends]") {
  const std::vector<uint64_t> sizes = {0, 64, 0, backends::kCacheCheckBytes * 2 + 5, 1, 0};
  const CacheLayout layout(key_of(1), sizes);
  CHECK(layout.n_checks() == 5);
  uint64_t end = layout.first_data();
  CHECK(end % 4096 == 0);
  for (size_t i = 0; i < sizes.size(); ++i) {
    CHECK(layout.offset(i) >= end);
    CHECK(layout.offset(i) % 64 == 0);
    end = layout.offset(i) + layout.size(i);
  }
  CHECK(layout.file_bytes() >= end);
  std::vector<uint64_t> seen(sizes.size());
  for (uint64_t c = 0; c < layout.n_checks(); ++c) {
    const CacheLayout::Stretch s = layout.stretch(c);
    CHECK(s.start == seen[s.weight]);
    CHECK(s.bytes > 0);
    seen[s.weight] += s.bytes;
  }
  CHECK(seen == sizes);
  const std::vector<uint64_t> huge = {UINT64_MAX, UINT64_MAX};
  CHECK(error_of([&] { CacheLayout(key_of(1), huge); }).code() == Code::corrupt);
}

TEST_CASE("packed weights come back as they were kept", "[backends]") {
  Fixture f;
  CHECK_FALSE(f.has(f.layout));
  CHECK(f.write(f.layout));
  CHECK(f.has(f.layout));
  CHECK_FALSE(f.has(CacheLayout(key_of(2), f.weights.sizes)));
  CHECK(backends::report_cache(f.settings.folder).files == 1);
  CHECK(backends::report_cache(f.settings.folder).bytes == f.layout.file_bytes());
  struct stat status = {};
  REQUIRE(::stat(f.settings.folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(backends::clear_cache(f.settings.folder).files == 1);
  CHECK(f.files().empty());
  CHECK_FALSE(f.has(f.layout));
}

TEST_CASE("a damaged file of packed weights is ignored, and written anew", "[backends]") {
  Fixture f;
  REQUIRE(f.write(f.layout));
  const std::string path = f.file(), right = read_file(path);
  const auto refused = [&](const std::string& bytes) {
    write_file(path, bytes);
    f.log.clear();
    CHECK_FALSE(f.has(f.layout));
    CHECK_FALSE(f.log.empty());
  };
  SECTION("cut short, or too long") {
    for (const size_t n : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, size_t{150}, size_t{4096},
                           right.size() / 2, right.size() - 1})
      refused(right.substr(0, n));
    refused(right + "x");
  }
  SECTION("another bit in the head or the checksums") {
    const size_t end = 128 + 8 * f.layout.n_checks();
    for (size_t bit = 0; bit < 8 * end; bit += kSanitized ? 11 : bit < 1024 ? 1 : 7) {
      std::string bytes = right;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      CAPTURE(bit);
      refused(bytes);
    }
  }
  SECTION("another bit in the weights") {
    for (size_t i = 0; i < f.weights.sizes.size(); ++i)
      for (const uint64_t at : {uint64_t{0}, f.layout.size(i) / 2, f.layout.size(i) - 1}) {
        if (f.layout.size(i) == 0) continue;
        std::string bytes = right;
        char& b = bytes[f.layout.offset(i) + at];
        b = static_cast<char>(b ^ 0x10);
        CAPTURE(i, at);
        refused(bytes);
      }
  }
  SECTION("no file of this kind, or no file") {
    refused(std::string(right.size(), '\0'));
    refused(std::string(right.size(), 'x'));
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    CHECK_FALSE(f.has(f.layout));
    std::filesystem::remove(path);
  }
  CHECK(f.write(f.layout));
  CHECK(f.has(f.layout));
}

TEST_CASE("a file that says it is right is held against what it must be", "[backends]") {
  // Valid heads of other layouts, under this one's name.
  Fixture f;
  REQUIRE(f.write(f.layout));
  const std::string path = f.file();
  std::vector<uint64_t> sizes = f.weights.sizes;
  std::swap(sizes[0], sizes[3]);
  for (const CacheLayout& other :
       {CacheLayout(key_of(7), f.weights.sizes), CacheLayout(f.layout.key(), sizes)}) {
    std::string bytes = read_file(path);
    const std::vector<uint64_t> checks(other.n_checks());
    const auto head = backends::encode_cache_head(other, checks, {});
    std::memcpy(bytes.data(), head.data(), head.size());
    bytes.resize(other.file_bytes());
    write_file(path, bytes);
    CHECK_FALSE(f.has(f.layout));
  }
}

TEST_CASE("a sealed file is read in full only after it was written to", "[backends]") {
  Fixture f;
  REQUIRE(f.write(f.layout));
  const std::string path = f.file(), right = read_file(path);
  if (backends::boot_name().empty()) {
    WARN("skipped: the machine does not name its run");
    return;
  }
  const int64_t sealed = written_s(path);
  std::string damaged = right;
  damaged.back() = static_cast<char>(damaged.back() ^ 0x40);
  damaged[f.layout.offset(4)] = static_cast<char>(damaged[f.layout.offset(4)] ^ 0x40);
  write_file(path, damaged);
  CHECK_FALSE(f.folder.open(f.layout));
  set_times(path, sealed, sealed);
  CHECK(f.folder.open(f.layout));  // nobody wrote to it, says its time
  // Unsealed by its time, or by another run of the machine: read once, and sealed again.
  write_file(path, right);
  CHECK(written_s(path) >= sealed);
  set_times(path, sealed - 1000, sealed - 1000);
  CHECK(f.has(f.layout));
  CHECK(written_s(path) == sealed);
  for (const std::string boot : {"another-run-of-the-machine", ""}) {
    backends::CacheHead head = backends::read_cache_head(*open_mapped(path), f.layout);
    CHECK(head.seal.boot == backends::boot_name());
    head.seal.boot = boot;
    const auto other = backends::encode_cache_head(f.layout, head.checks, head.seal);
    std::string bytes = damaged;
    std::memcpy(bytes.data(), other.data(), other.size());
    write_file(path, bytes);
    set_times(path, sealed, sealed);
    CHECK_FALSE(f.folder.open(f.layout));
    bytes = right;
    std::memcpy(bytes.data(), other.data(), other.size());
    write_file(path, bytes);
    set_times(path, sealed, sealed);
    CHECK(f.has(f.layout));
    CHECK(backends::read_cache_head(*open_mapped(path), f.layout).seal.boot == backends::boot_name());
    CHECK(written_s(path) == sealed);
  }
}

TEST_CASE("a cache keeps to its bound, and the least recently used goes", "[backends]") {
  Fixture f;
  const uint64_t each = f.layout.file_bytes();
  std::vector<CacheLayout> layouts;
  for (int i = 0; i < 5; ++i) layouts.emplace_back(key_of(i), f.weights.sizes);
  f.settings.max_bytes = 3 * each + 100;
  for (int i = 0; i < 3; ++i) {
    const auto before = f.files();
    REQUIRE(f.write(layouts[static_cast<size_t>(i)]));
    for (const std::string& p : f.files())
      if (std::find(before.begin(), before.end(), p) == before.end()) set_times(p, 1000 + i, written_s(p));
  }
  const std::string mine = f.settings.folder + "/notes.weights";
  write_file(mine, "mine");
  REQUIRE(f.has(layouts[0]));  // used: now 1 is the oldest
  REQUIRE(f.write(layouts[3]));
  CHECK(f.has(layouts[0]));
  CHECK_FALSE(f.has(layouts[1]));
  CHECK(f.has(layouts[2]));
  CHECK(f.has(layouts[3]));
  CHECK(backends::report_cache(f.settings.folder).bytes == 3 * each);
  f.settings.max_bytes = each - 1;
  CHECK(f.write(layouts[4]));  // does not fit, and nothing has to go for it
  CHECK_FALSE(f.has(layouts[4]));
  CHECK(contains(f.log, "do not fit"));
  CHECK(backends::report_cache(f.settings.folder).files == 3);
  CHECK(backends::clear_cache(f.settings.folder).files == 3);
  CHECK(read_file(mine) == "mine");
}

TEST_CASE("what cannot be written is not kept, and leaves nothing", "[backends]") {
  Fixture f;
  SECTION("no folder can be made there") {
    f.settings.folder = f.dir.write("file", "x") + "/cache";
    CHECK(f.write(f.layout));
    CHECK_FALSE(f.has(f.layout));
    f.settings.folder = "/proc/self/no/such/folder";
    CHECK(f.write(f.layout));
    CHECK_FALSE(f.has(f.layout));
    CHECK(contains(f.log, "not kept"));
  }
  SECTION("it is cancelled in the middle") {
    int n = 0;
    CHECK_FALSE(f.folder.write(f.layout, f.weights.spans(), [&](uint64_t) { return ++n < 3; }));
    CHECK(f.files().empty());
  }
  SECTION("another process is writing it") {
    REQUIRE(f.write(f.layout));
    const std::string path = f.file();
    std::filesystem::remove(path);
    {
      formats::AtomicFile other(path);
      CHECK(f.write(f.layout));
      CHECK(contains(f.log, "by someone else"));
      CHECK(backends::clear_cache(f.settings.folder).files == 0);
      CHECK(f.files().size() == 1);  // its part
    }
    write_file(path + ".part", "left by a crash");
    CHECK(backends::report_cache(f.settings.folder).files == 0);
    CHECK(f.files().empty());
    CHECK(f.write(f.layout));
    CHECK(f.has(f.layout));
  }
}

TEST_CASE("weights that others may have written are not used", "[backends]") {
  Fixture f;
  REQUIRE(f.write(f.layout));
  const std::string path = f.file();
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK_FALSE(f.has(f.layout));
  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  CHECK(f.has(f.layout));
  if (::geteuid() == 0 && ::chown(path.c_str(), 12345, 12345) == 0) {
    CHECK_FALSE(f.has(f.layout));
  } else {
    WARN("skipped: only root gives files to others");
  }
}

TEST_CASE("many keep and find the same weights at once", "[backends][concurrent]") {
  const TempDir dir;
  const Weights weights({100'000, 2'000'000});
  const backends::CacheSettings settings{dir.path(), uint64_t{1} << 30, 0};
  const CacheLayout layout(key_of(3), weights.sizes);
  std::atomic<int> found{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      ThreadPool pool(1);
      const LogSink silent;
      const CacheFolder folder(settings, silent, pool);
      for (int i = 0; i < 20; ++i) {
        const ByteSourcePtr file = folder.open(layout);
        if (!file) {
          folder.write(layout, weights.spans(), [](uint64_t) { return true; });
          continue;
        }
        ++found;
        for (size_t w = 0; w < weights.sizes.size(); ++w)
          if (!std::equal(weights.bytes[w].begin(), weights.bytes[w].end(),
                          file->mapped() + layout.offset(w)))
            ++wrong;
        if (i % 5 == 4) backends::clear_cache(settings.folder);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(found > 0);
  CHECK(wrong == 0);
}
