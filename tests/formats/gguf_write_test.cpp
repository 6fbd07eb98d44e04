// What is written reads back equal, and a failure leaves nothing behind.
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "formats/gguf.h"
#include "gguf_builder.h"
#include "support.h"

using namespace ingle;
using namespace ingle::formats;
using namespace ingle::formats::test;

namespace {

const GgufMeta& all_kinds() {
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr uint64_t kHigh = std::numeric_limits<uint64_t>::max();
  static const GgufMeta kMeta = {
      {"bool", true},
      {"int.small", int64_t{-70000}},
      {"int.large", kLow},
      {"uint.small", uint64_t{4000000000}},
      {"uint.large", kHigh},
      {"float.single", 0.5},
      {"float.double", 0.1},
      {"float.huge", 1e300},
      {"float.infinite", -std::numeric_limits<double>::infinity()},
      {"text", std::string("h\xc3\xa9llo\0!", 8)},
      {"text.empty", std::string()},
      {"ints", MetaArray(std::vector<int64_t>{-1, 2, std::numeric_limits<int32_t>::min()})},
      {"ints.large", MetaArray(std::vector<int64_t>{-1, kLow})},
      {"ints.empty", MetaArray(std::vector<int64_t>{})},
      {"uints", MetaArray(std::vector<uint64_t>{0, 4294967295})},
      {"uints.large", MetaArray(std::vector<uint64_t>{0, kHigh})},
      {"floats", MetaArray(std::vector<double>{0.5, -1.25})},
      {"floats.double", MetaArray(std::vector<double>{0.1, 1e300})},
      {"bools", MetaArray(std::vector<bool>{true, false, true})},
      {"texts", MetaArray(std::vector<std::string>{"a", "", "ccc"})},
  };
  return kMeta;
}

const std::vector<GgufTensor>& some_tensors() {
  static const std::vector<GgufTensor> kTensors = {{"scalar", DType::f32, {1}},
                                                   {"matrix", kQ8_0, {3, 64}},
                                                   {"experts", kQ4_K, {2, 3, 256}},
                                                   {"four", DType::bf16, {2, 1, 3, 5}}};
  return kTensors;
}

void fill(size_t i, Bytes& out) {
  constexpr size_t kSizes[] = {4, 3 * 2 * 34, 2 * 3 * 144, 30 * 2};
  for (size_t j = 0; j < kSizes[i]; ++j) out.push_back(static_cast<std::byte>(i * 31 + j));
}

// Stands in for a full disk: longer files cannot be written while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

bool exists(const std::string& path) { return std::filesystem::exists(path); }

}  // namespace

TEST_CASE("a written file reads back equal", "[gguf][write]") {
  const tests::TempDir folder;
  const std::string path = folder.path() + "/out.gguf";
  for (const uint64_t alignment : {0, 8, 32, 4096}) {
    GgufMeta meta = all_kinds();
    if (alignment) meta.emplace_back("general.alignment", alignment);
    write_gguf(path, meta, some_tensors(), types(), fill);
    CHECK_FALSE(exists(path + ".part"));
    const CheckpointPtr file = open_gguf(path, types());
    std::vector<std::string> keys;
    for (const auto& [key, value] : meta) {
      INFO(key);
      keys.push_back(key);
      REQUIRE(file->meta(key) != nullptr);
      CHECK(*file->meta(key) == value);
    }
    CHECK(file->meta_keys() == keys);
    REQUIRE(file->tensors().size() == some_tensors().size());
    for (size_t i = 0; i < some_tensors().size(); ++i) {
      const TensorInfo& tensor = file->tensors()[i];
      CHECK(tensor.name == some_tensors()[i].name);
      CHECK(tensor.type == some_tensors()[i].type);
      CHECK(tensor.shape == some_tensors()[i].shape);
      CHECK(tensor.offset % (alignment ? alignment : 32) == 0);
      Bytes expected;
      fill(i, expected);
      CHECK(bytes_in(*file, tensor.name) == expected);
    }
  }
}

TEST_CASE("a golden that is read and written keeps its tables and bytes", "[gguf][write]") {
  const tests::TempDir folder;
  const CheckpointPtr golden = open_gguf(data_path("container_v3.gguf"), types());
  GgufMeta meta;
  for (const std::string& key : golden->meta_keys()) meta.emplace_back(key, *golden->meta(key));
  std::vector<GgufTensor> tensors;
  for (const TensorInfo& t : golden->tensors()) tensors.push_back({t.name, t.type, t.shape});
  const std::string path = folder.path() + "/copy.gguf";
  write_gguf(path, meta, tensors, types(),
             [&](size_t i, Bytes& out) { out = bytes_in(*golden, tensors[i].name); });
  const CheckpointPtr copy = open_gguf(path, types());
  for (const auto& [key, value] : meta) CHECK(*copy->meta(key) == value);
  for (const GgufTensor& t : tensors) CHECK(bytes_in(*copy, t.name) == bytes_in(*golden, t.name));
}

TEST_CASE("not-a-number survives writing", "[gguf][write]") {
  const tests::TempDir folder;
  const std::string path = folder.path() + "/nan.gguf";
  write_gguf(path, {{"nan", std::nan("")}}, {}, types(), fill);
  CHECK(std::isnan(open_gguf(path, types())->need_float("nan")));
}

TEST_CASE("a value beyond 32 bits does not narrow, others do", "[gguf][write]") {
  const tests::TempDir folder;
  const std::string path = folder.path() + "/types.gguf";
  write_gguf(path, {{"k", uint64_t{7}}}, {}, types(), fill);
  CHECK(read_file(path).find(gguf_string("k") + le(4u) + le(7u)) != std::string::npos);
  write_gguf(path, {{"k", uint64_t{1} << 32}}, {}, types(), fill);
  CHECK(read_file(path).find(gguf_string("k") + le(10u) + le(uint64_t{1} << 32)) != std::string::npos);
  write_gguf(path, {{"k", 0.5}}, {}, types(), fill);
  CHECK(read_file(path).find(gguf_string("k") + le(6u) + le(0.5f)) != std::string::npos);
}

TEST_CASE("the writer refuses what the reader would", "[gguf][write]") {
  const tests::TempDir folder;
  const std::string path = folder.path() + "/bad.gguf";
  const auto refused = [&](const GgufMeta& meta, const std::vector<GgufTensor>& tensors,
                           const std::vector<std::string>& text) {
    check_refused([&] { write_gguf(path, meta, tensors, types(), fill); }, Code::invalid_argument, text);
    CHECK_FALSE(exists(path));
    CHECK_FALSE(exists(path + ".part"));
  };
  refused({{"", true}}, {}, {"key ''", "0 bytes"});
  refused({{std::string(65536, 'k'), true}}, {}, {"65536"});
  refused({{std::string("a\0b", 3), true}}, {}, {"zero byte"});
  refused({{"k", true}, {"k", false}}, {}, {"same name", "0 and 1"});
  refused({{"general.alignment", uint64_t{48}}}, {}, {"general.alignment", "power of two"});
  refused({{"general.alignment", uint64_t{1}}}, {}, {"power of two"});
  refused({{"general.alignment", int64_t{32}}}, {}, {"unsigned"});
  refused({{"k", std::string((64 << 20) + 1, 'x')}}, {}, {"'k'", "too long"});
  refused({}, {{"", DType::f32, {4}}}, {"0 bytes"});
  refused({}, {{"t", DType::f32, {4}}, {"t", DType::f32, {4}}}, {"same name"});
  refused({}, {{"t", DType::u8, {4}}}, {"'t'", "no number in GGUF"});
  refused({}, {{"t", quantised(99), {4}}}, {"'t'", "no number in GGUF"});
  refused({}, {{"t", DType::f32, {}}}, {"'t'", "no dimensions"});
  refused({}, {{"t", DType::f32, {4, 0}}}, {"'t'", "[4, 0]"});
  refused({}, {{"t", DType::f32, {-4}}}, {"'t'", "[-4]"});
  refused({}, {{"t", DType::f32, {int64_t{1} << 40, 512}}}, {"'t'"});
  refused({}, {{"t", kQ8_0, {2, 16}}}, {"'t'", "16", "multiple of 32"});
}

TEST_CASE("a failure while writing keeps the old file", "[gguf][write]") {
  const tests::TempDir folder;
  const std::string path = folder.write("kept.gguf", "old");
  SECTION("the wrong number of bytes") {
    const auto short_fill = [](size_t i, Bytes& out) {
      fill(i, out);
      if (i == 2) out.pop_back();
    };
    check_refused([&] { write_gguf(path, {}, some_tensors(), types(), short_fill); }, Code::invalid_argument,
                  {"'experts'", "863", "864"});
  }
  SECTION("a callback that throws") {
    CHECK_THROWS_AS(write_gguf(path, {}, some_tensors(), types(),
                               [](size_t, Bytes&) { throw std::runtime_error("stop"); }),
                    std::runtime_error);
  }
  SECTION("a folder that is not there") {
    check_refused([&] { write_gguf(folder.path() + "/no/x.gguf", {}, {}, types(), fill); }, Code::io,
                  {"cannot create"});
  }
  SECTION("a name that is taken by a folder") {
    std::filesystem::create_directory(folder.path() + "/taken");
    check_refused([&] { write_gguf(folder.path() + "/taken", {}, {}, types(), fill); }, Code::io,
                  {"is a directory"});
    CHECK_FALSE(exists(folder.path() + "/taken.part"));
  }
  SECTION("a name that is taken by a pipe, which stands for every device") {
    const std::string pipe = folder.path() + "/pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    check_refused([&] { write_gguf(pipe, {}, {}, types(), fill); }, Code::io, {"pipe", "no regular file"});
    CHECK(std::filesystem::is_fifo(pipe));
    CHECK_FALSE(exists(pipe + ".part"));
  }
  SECTION("no name") {
    check_refused([&] { write_gguf("", {}, {}, types(), fill); }, Code::invalid_argument, {"empty"});
    CHECK_FALSE(exists(".part"));
  }
  SECTION("a pipe under the temporary name") {
    REQUIRE(mkfifo((path + ".part").c_str(), 0600) == 0);
    check_refused([&] { write_gguf(path, {}, {}, types(), fill); }, Code::io, {".part"});
    std::filesystem::remove(path + ".part");
  }
  SECTION("two writers of one name") {
    const auto second = [&](size_t i, Bytes& out) {
      if (i == 0)
        check_refused([&] { write_gguf(path, {}, {}, types(), fill); }, Code::io,
                      {".part", "being written by someone else"});
      if (i == 1) throw std::runtime_error("stop");
      fill(i, out);
    };
    CHECK_THROWS_AS(write_gguf(path, {}, some_tensors(), types(), second), std::runtime_error);
  }
  SECTION("a link under the temporary name") {
    const std::string victim = folder.write("victim", "untouched");
    std::filesystem::create_symlink(victim, path + ".part");
    check_refused([&] { write_gguf(path, {}, {}, types(), fill); }, Code::io, {"cannot create"});
    CHECK(read_file(victim) == "untouched");
    std::filesystem::remove(path + ".part");
  }
  SECTION("a write that the system cuts short") {
    const FileSizeLimit limit(100);
    check_refused([&] { write_gguf(path, {}, some_tensors(), types(), fill); }, Code::io, {"cannot write"});
  }
  CHECK(read_file(path) == "old");
  CHECK_FALSE(exists(path + ".part"));
}

TEST_CASE("a file that is replaced keeps its permissions, and a part left behind is written over",
          "[gguf][write]") {
  const tests::TempDir folder;
  const std::string path = folder.write("kept.gguf", "old");
  folder.write("kept.gguf.part", std::string(100000, 'x'));
  namespace fs = std::filesystem;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  write_gguf(path, {}, some_tensors(), types(), fill);
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(open_gguf(path, types())->tensors().size() == some_tensors().size());
  CHECK_FALSE(exists(path + ".part"));
}
