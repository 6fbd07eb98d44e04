#include "core/file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp.h"

using namespace ingle;
using tests::error_of;
using tests::TempDir;

namespace {

// 3 pages and a bit, no two neighbours alike.
std::string sample() {
  std::string bytes(3 * 4096 + 77, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

std::string read(const ByteSource& source, uint64_t offset, size_t bytes) {
  std::string out(bytes, '\0');
  source.read(offset, std::as_writable_bytes(std::span(out)));
  return out;
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// One source of each kind over the same bytes.
std::vector<ByteSourcePtr> every_source(const TempDir& dir, const std::string& bytes) {
  const std::string path = dir.write("sample", bytes);
  return {open_mapped(path), open_plain(path), from_memory("memory", bytes_of(bytes)),
          from_reader("reader", bytes.size(), [&bytes](uint64_t offset, std::span<std::byte> out) {
            std::memcpy(out.data(), bytes.data() + offset, out.size());
            return true;
          })};
}

}  // namespace

TEST_CASE("every source reads the same bytes", "[core]") {
  const TempDir dir;
  const std::string bytes = sample();
  for (const ByteSourcePtr& source : every_source(dir, bytes)) {
    INFO(source->name());
    REQUIRE(source->size() == bytes.size());
    CHECK(read(*source, 0, bytes.size()) == bytes);
    CHECK(read(*source, 4095, 3) == bytes.substr(4095, 3));
    CHECK(read(*source, bytes.size() - 1, 1) == bytes.substr(bytes.size() - 1));
    CHECK(read(*source, bytes.size(), 0).empty());
  }
}

TEST_CASE("every source refuses a range outside itself", "[core]") {
  const TempDir dir;
  const std::string bytes = sample();
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  for (const ByteSourcePtr& source : every_source(dir, bytes)) {
    INFO(source->name());
    for (const uint64_t offset : {bytes.size() - 1, bytes.size(), size_t{1} << 40, kMost - 1, kMost}) {
      const Error e = error_of([&] { read(*source, offset, 2); });
      CHECK(e.code() == Code::io);
      CHECK(e.where() == source->name());
      CHECK(tests::contains(e.message(), std::to_string(offset)));
    }
    CHECK(error_of([&] { read(*source, 0, bytes.size() + 1); }).code() == Code::io);
    CHECK(error_of([&] { read(*source, bytes.size() + 1, 0); }).code() == Code::io);
  }
}

TEST_CASE("only what lies in memory is mapped", "[core]") {
  const TempDir dir;
  const std::string bytes = sample();
  const auto sources = every_source(dir, bytes);
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::byte* mapped = sources[i]->mapped();
    const bool expected = i == 0 || i == 2;
    REQUIRE((mapped != nullptr) == expected);
    if (mapped) CHECK(std::memcmp(mapped, bytes.data(), bytes.size()) == 0);
  }
}

TEST_CASE("forgotten bytes stay readable", "[core]") {
  const TempDir dir;
  const std::string bytes = sample();
  const uint64_t kMost = std::numeric_limits<uint64_t>::max();
  for (const ByteSourcePtr& source : every_source(dir, bytes)) {
    source->forget(1, 10);
    source->forget(100, 3 * 4096);
    source->forget(0, bytes.size());
    source->forget(0, kMost);
    source->forget(bytes.size(), 1);
    source->forget(kMost, kMost);
    CHECK(read(*source, 0, bytes.size()) == bytes);
    if (source->mapped()) CHECK(std::memcmp(source->mapped(), bytes.data(), bytes.size()) == 0);
  }
}

TEST_CASE("an empty file opens and holds nothing", "[core]") {
  const TempDir dir;
  const std::string path = dir.write("empty", "");
  for (const ByteSourcePtr& source : {open_mapped(path), open_plain(path)}) {
    CHECK(source->size() == 0);
    CHECK(read(*source, 0, 0).empty());
    CHECK(error_of([&] { read(*source, 0, 1); }).code() == Code::io);
    source->forget(0, 1);
  }
}

TEST_CASE("what cannot be opened says why", "[core]") {
  const TempDir dir;
  const std::string missing = dir.path() + "/missing", fifo = dir.path() + "/fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  const std::string under_file = dir.write("file", "x") + "/below";
  for (const auto open : {open_mapped, open_plain}) {
    const Error e = error_of([&] { open(missing); });
    CHECK(e.code() == Code::not_found);
    CHECK(e.where() == missing);
    CHECK(error_of([&] { open(under_file); }).code() == Code::not_found);
    CHECK(error_of([&] { open(""); }).code() == Code::not_found);
    const Error directory = error_of([&] { open(dir.path()); });
    CHECK(directory.code() == Code::io);
    CHECK(tests::contains(directory.message(), "directory"));
    CHECK(error_of([&] { open(fifo); }).code() == Code::io);  // and does not wait for a writer
    CHECK(error_of([&] { open("/dev/null"); }).code() == Code::io);
    CHECK(error_of([&] { open(std::string("a\0b", 3)); }).code() == Code::invalid_argument);
    CHECK(error_of([&] { open(std::string(5000, 'x')); }).code() == Code::io);
  }
}

TEST_CASE("a file that was cut short after opening is an error", "[core]") {
  const TempDir dir;
  const std::string path = dir.write("short", sample());
  const std::vector<ByteSourcePtr> sources = {open_mapped(path), open_plain(path)};
  std::filesystem::resize_file(path, 5000);
  for (const ByteSourcePtr& source : sources) {
    CHECK(read(*source, 0, 5000) == sample().substr(0, 5000));
    const Error e = error_of([&] { read(*source, 4000, 2000); });
    CHECK(e.code() == Code::io);
    CHECK(tests::contains(e.message(), "5000"));
  }
}

TEST_CASE("a host's reader may fail or throw", "[core]") {
  const auto code_with = [](auto read_at) {
    const auto source = from_reader("pak", 100, read_at);
    return error_of([&] { read(*source, 10, 20); }).code();
  };
  CHECK(code_with([](uint64_t, std::span<std::byte>) { return true; }) == Code::ok);
  CHECK(code_with([](uint64_t, std::span<std::byte>) { return false; }) == Code::io);
  CHECK(code_with([](uint64_t, std::span<std::byte>) -> bool { throw std::runtime_error("no"); }) ==
        Code::io);
  CHECK(error_of([] { from_reader("none", 1, nullptr); }).code() == Code::invalid_argument);
  const auto endless =
      error_of([] { from_reader("pak", UINT64_MAX, [](uint64_t, std::span<std::byte>) { return true; }); });
  CHECK(endless.code() == Code::invalid_argument);
  CHECK(endless.message().find("18446744073709551615") != std::string::npos);
}

TEST_CASE("a host's reader is asked for the range and for nothing when it is empty", "[core]") {
  int calls = 0;
  const auto source = from_reader("pak", 100, [&](uint64_t offset, std::span<std::byte> out) {
    ++calls;
    std::fill(out.begin(), out.end(), static_cast<std::byte>(offset));
    return out.size() == 3;
  });
  CHECK(read(*source, 97, 3) == std::string(3, static_cast<char>(97)));
  CHECK(read(*source, 100, 0).empty());
  CHECK(calls == 1);
}

TEST_CASE("threads read one source at the same time", "[core][concurrent]") {
  const TempDir dir;
  const std::string bytes = sample();
  for (const ByteSourcePtr& source : every_source(dir, bytes)) {
    std::array<bool, 4> equal{};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < equal.size(); ++t) {
      threads.emplace_back([&, t] {
        bool all = true;
        for (size_t i = 0; i < 50; ++i) {
          const size_t offset = (t * 1009 + i * 131) % 8192;
          all = all && read(*source, offset, 4096) == bytes.substr(offset, 4096);
        }
        equal[t] = all;
      });
    }
    for (std::thread& t : threads) t.join();
    for (const bool e : equal) CHECK(e);
  }
}
