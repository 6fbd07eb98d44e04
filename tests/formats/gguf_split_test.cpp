// Split checkpoints: every way in which the parts can disagree.
#include "formats/gguf.h"
#include "gguf_builder.h"
#include "support.h"

using namespace ingle;
using namespace ingle::formats;
using namespace ingle::formats::test;

namespace {

struct Parts {
  GgufFile first, second;
};

// The small file with its last tensor moved into a second part.
Parts two_parts() {
  Parts parts;
  parts.first = small_gguf();
  parts.first.tensors.pop_back();
  parts.first.set_u32("split.tensors.count", 3);
  parts.second.tensors = {{"cube.weight", {4, 2, 3}, 1, 0}};
  parts.second.data = std::string(48, 'c');
  uint16_t no = 0;
  for (GgufFile* part : {&parts.first, &parts.second}) {
    part->keys.push_back({"split.no", 2, le(no++)});
    part->keys.push_back({"split.count", 2, le<uint16_t>(2)});
  }
  return parts;
}

std::string& payload(GgufFile& file, const std::string& key) {
  for (GgufFile::Key& entry : file.keys) {
    if (entry.name == key) return entry.payload;
  }
  throw std::runtime_error("no key " + key);
}

constexpr const char* kFirst = "m-00001-of-00002.gguf";
constexpr const char* kSecond = "m-00002-of-00002.gguf";

// Writes both parts and opens the first.
CheckpointPtr open_parts(const Parts& parts, const tests::TempDir& folder) {
  folder.write(kSecond, parts.second.bytes());
  return open_gguf(folder.write(kFirst, parts.first.bytes()), types());
}

}  // namespace

TEST_CASE("two parts become one checkpoint", "[gguf][split]") {
  const tests::TempDir folder;
  const Parts parts = two_parts();
  const CheckpointPtr whole = open_parts(parts, folder);
  REQUIRE(whole->tensors().size() == 3);
  CHECK(whole->name() == folder.path() + "/" + kFirst);
  CHECK(whole->find("cube.weight")->source == 1);
  CHECK(bytes_in(*whole, "cube.weight") == Bytes(48, std::byte{'c'}));
  CHECK(whole->need_int("split.count") == 2);

  const std::string first = parts.first.bytes(), second = parts.second.bytes();
  const CheckpointPtr from_sources = open_gguf({in_memory(first), behind_reader(second)}, types());
  CHECK(bytes_in(*from_sources, "cube.weight") == Bytes(48, std::byte{'c'}));
}

TEST_CASE("parts that disagree are refused", "[gguf][split][malformed]") {
  const tests::TempDir folder;
  Parts parts = two_parts();
  SECTION("a missing part") {
    const std::string first = folder.write(kFirst, parts.first.bytes());
    check_refused([&] { open_gguf(first, types()); }, Code::not_found, {kSecond, "part 2 of 2", "missing"});
  }
  SECTION("another part given first") {
    folder.write(kFirst, parts.first.bytes());
    const std::string second = folder.write(kSecond, parts.second.bytes());
    check_refused([&] { open_gguf(second, types()); }, Code::invalid_argument, {"part 2 of 2", kFirst});
  }
  SECTION("a first part under another name") {
    const std::string first = folder.write("renamed.gguf", parts.first.bytes());
    check_refused([&] { open_gguf(first, types()); }, Code::corrupt,
                  {"renamed.gguf", "-00001-of-00002.gguf"});
  }
  SECTION("a second part under the first one's name") {
    payload(parts.first, "split.no") = le<uint16_t>(1);
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt, {kFirst, "-00002-of-00002.gguf"});
  }
  SECTION("a part number past the count") {
    payload(parts.first, "split.no") = le<uint16_t>(2);
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt, {kFirst, "'split.no'", "2 parts"});
  }
  SECTION("the same part twice") {
    payload(parts.second, "split.no") = le<uint16_t>(0);
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt, {kSecond, "split.no 0"});
  }
  SECTION("a part of a larger split") {
    payload(parts.second, "split.count") = le<uint16_t>(3);
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt, {kSecond, "split.count 3"});
  }
  SECTION("a second part without split keys") {
    parts.second.keys.clear();
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt, {kSecond, "no split.no"});
  }
  SECTION("a second part without its count") {
    parts.second.keys.pop_back();
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt, {kSecond, "no split.count"});
  }
  SECTION("a wrong number of tensors") {
    payload(parts.first, "split.tensors.count") = le<uint32_t>(4);
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt,
                  {kFirst, "'split.tensors.count'", "is 4", "3"});
  }
  SECTION("a tensor in both") {
    parts.second.tensors[0].name = "norm.weight";
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt,
                  {kSecond, "'norm.weight'", "twice", kFirst});
  }
  SECTION("a damaged second part") {
    parts.second.data.pop_back();
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt, {kSecond, "'cube.weight'"});
  }
  SECTION("a second part that is no GGUF file") {
    parts.second.magic = "nope";
    check_refused([&] { open_parts(parts, folder); }, Code::corrupt, {kSecond, "'nope'"});
  }
  SECTION("sources in the wrong order") {
    const std::string first = parts.first.bytes(), second = parts.second.bytes();
    check_refused(
        [&] {
          open_gguf({in_memory(second), in_memory(first)}, types());
        },
        Code::corrupt, {"split.no 1"});
  }
  SECTION("one source too many") {
    const std::string first = parts.first.bytes(), second = parts.second.bytes();
    check_refused(
        [&] {
          open_gguf({in_memory(first), in_memory(second), in_memory(second)}, types());
        },
        Code::invalid_argument, {"2 parts, 3 were given"});
  }
  SECTION("sources that were never split") {
    const std::string whole = small_gguf().bytes();
    check_refused(
        [&] {
          open_gguf({in_memory(whole), in_memory(whole)}, types());
        },
        Code::corrupt, {"no split.no"});
  }
}

TEST_CASE("a split of one part is an ordinary file", "[gguf][split]") {
  GgufFile file = small_gguf();
  file.keys.push_back({"split.no", 2, le<uint16_t>(0)});
  file.keys.push_back({"split.count", 2, le<uint16_t>(1)});
  const tests::TempDir folder;
  CHECK(open_gguf(folder.write("any.gguf", file.bytes()), types())->tensors().size() == 3);
  file.keys.back().payload = le<uint16_t>(0);
  CHECK(open_gguf(folder.write("any.gguf", file.bytes()), types())->tensors().size() == 3);
}
