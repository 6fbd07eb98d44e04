// One thing broken at a time: each kind of damage gets an error of its own that names the place.
#include <functional>

#include "formats/gguf.h"
#include "gguf_builder.h"
#include "support.h"

using namespace ingle;
using namespace ingle::formats;
using namespace ingle::formats::test;

namespace {

struct Broken {
  const char* name;
  std::function<void(GgufFile&)> breaks;
  Code code;
  std::vector<std::string> text;
};

// Every case runs on a mapping and behind a reader.
void check_all(const std::vector<Broken>& cases) {
  for (const Broken& broken : cases) {
    DYNAMIC_SECTION(broken.name) {
      GgufFile file = small_gguf();
      broken.breaks(file);
      const std::string bytes = file.bytes();
      std::vector<std::string> text = broken.text;
      text.push_back("test.bin");
      check_refused([&] { open_gguf({in_memory(bytes)}, types()); }, broken.code, text);
      check_refused([&] { open_gguf({behind_reader(bytes)}, types()); }, broken.code, text);
    }
  }
}

void add(GgufFile& file, const std::string& key, uint32_t type, const std::string& payload) {
  file.keys.push_back({key, type, payload});
}
std::string array(uint32_t type, uint64_t n, const std::string& elements) {
  return le(type) + le(n) + elements;
}

}  // namespace

TEST_CASE("the small file that the cases break is sound", "[gguf]") {
  const std::string bytes = small_gguf().bytes();
  for (const auto& source : {in_memory(bytes), behind_reader(bytes)}) {
    const CheckpointPtr file = open_gguf({source}, types());
    REQUIRE(file->tensors().size() == 3);
    CHECK(file->name() == "test.bin");
    CHECK(file->find("proj.weight")->shape == Shape{2, 64});
    CHECK(file->find("proj.weight")->bytes == 136);
    CHECK(file->find("cube.weight")->shape == Shape{3, 2, 4});
    CHECK(file->meta_keys() == std::vector<std::string>{"general.architecture", "llama.block_count"});
    const Bytes norm = bytes_in(*file, "norm.weight");
    REQUIRE(norm.size() == 256);
    CHECK(std::memcmp(norm.data(), small_gguf().data.data(), norm.size()) == 0);
  }
}

TEST_CASE("malformed preambles", "[gguf][malformed]") {
  check_all({
      {"another magic", [](GgufFile& f) { f.magic = "GGUX"; }, Code::corrupt, {"'GGUX'", "'GGUF'"}},
      {"a GGML file", [](GgufFile& f) { f.magic = "tjgg"; }, Code::corrupt, {"'tjgg'", "predecessors"}},
      {"an LFS pointer", [](GgufFile& f) { f.magic = "vers"; }, Code::corrupt, {"LFS pointer"}},
      {"a zip archive", [](GgufFile& f) { f.magic = "PK\3\4"; }, Code::corrupt, {"zip"}},
      {"version 0", [](GgufFile& f) { f.version = 0; }, Code::corrupt, {"version 0"}},
      {"version 1", [](GgufFile& f) { f.version = 1; }, Code::unsupported, {"version 1", "convert"}},
      {"version 4", [](GgufFile& f) { f.version = 4; }, Code::unsupported, {"version 4"}},
      {"big-endian version 3", [](GgufFile& f) { f.version = 3u << 24; }, Code::unsupported, {"big-endian"}},
      {"a tensor count past the limit",
       [](GgufFile& f) { f.extra_tensors = 1 << 21; },
       Code::corrupt,
       {"2097155"}},
      {"a key count past the limit", [](GgufFile& f) { f.extra_keys = 1 << 21; }, Code::corrupt, {"2097154"}},
      {"a tensor count of 2^64 - 1",
       [](GgufFile& f) { f.extra_tensors = -4; },
       Code::corrupt,
       {"18446744073709551615"}},
      {"a key count of 2^64 - 1",
       [](GgufFile& f) { f.extra_keys = -3; },
       Code::corrupt,
       {"18446744073709551615"}},
      {"more keys than fit",
       [](GgufFile& f) { f.extra_keys = 100; },
       Code::corrupt,
       {"metadata", "102 × 14"}},
      {"more tensors than fit", [](GgufFile& f) { f.extra_tensors = 100; }, Code::corrupt, {"103 × 33"}},
      {"one key too few", [](GgufFile& f) { f.extra_keys = -1; }, Code::corrupt, {"dimension"}},
  });
}

TEST_CASE("malformed metadata", "[gguf][malformed]") {
  check_all({
      {"an empty key", [](GgufFile& f) { add(f, "", 4, le(1u)); }, Code::corrupt, {"a key is empty"}},
      {"a key with a zero byte",
       [](GgufFile& f) { add(f, std::string("a\0b", 3), 4, le(1u)); },
       Code::corrupt,
       {"zero byte", "a\\x00b"}},
      {"a key that is too long",
       [](GgufFile& f) { add(f, std::string(65536, 'k'), 4, le(1u)); },
       Code::corrupt,
       {"65536", "65535"}},
      {"a key twice",
       [](GgufFile& f) { f.keys.push_back(f.keys[0]); },
       Code::corrupt,
       {"'general.architecture'", "twice", "0 and 2"}},
      {"value type 13",
       [](GgufFile& f) { add(f, "k", 13, le(1u)); },
       Code::corrupt,
       {"'k'", "value type 13"}},
      {"value type 2^32 - 1", [](GgufFile& f) { add(f, "k", ~0u, le(1u)); }, Code::corrupt, {"4294967295"}},
      {"a bool of 2", [](GgufFile& f) { add(f, "k", 7, "\2"); }, Code::corrupt, {"'k'", "bool is 2"}},
      {"a bool of 2 in an array",
       [](GgufFile& f) { add(f, "k", 9, array(7, 2, "\1\2")); },
       Code::corrupt,
       {"'k'", "bool is 2"}},
      {"a string past the end",
       [](GgufFile& f) { add(f, "k", 8, le<uint64_t>(1 << 20) + "x"); },
       Code::corrupt,
       {"'k'", "1048576"}},
      {"a string past the limit",
       [](GgufFile& f) { add(f, "k", 8, le<uint64_t>((64 << 20) + 1) + "x"); },
       Code::corrupt,
       {"'k'", "67108865", "67108864"}},
      {"a string of 2^64 - 1 bytes",
       [](GgufFile& f) { add(f, "k", 8, le(~uint64_t{0}) + "x"); },
       Code::corrupt,
       {"18446744073709551615"}},
      {"an array of arrays",
       [](GgufFile& f) { add(f, "k", 9, array(9, 1, array(4, 1, le(1u)))); },
       Code::unsupported,
       {"'k'", "array of arrays"}},
      {"array element type 13",
       [](GgufFile& f) { add(f, "k", 9, array(13, 1, le(1u))); },
       Code::corrupt,
       {"'k'", "element type 13"}},
      {"an array past the end",
       [](GgufFile& f) { add(f, "k", 9, array(4, 1 << 20, "")); },
       Code::corrupt,
       {"'k'", "1048576 × 4"}},
      {"a u64 array whose size wraps",
       [](GgufFile& f) { add(f, "k", 9, array(10, uint64_t{1} << 61, "")); },
       Code::corrupt,
       {"'k'", "2305843009213693952"}},
      {"an array of strings past the end",
       [](GgufFile& f) { add(f, "k", 9, array(8, 1 << 20, "")); },
       Code::corrupt,
       {"'k'", "1048576 × 8"}},
      {"an array of bools past the end",
       [](GgufFile& f) { add(f, "k", 9, array(7, 1 << 20, "")); },
       Code::corrupt,
       {"'k'", "1048576 × 1"}},
      {"a bad length inside an array of strings",
       [](GgufFile& f) { add(f, "k", 9, array(8, 2, gguf_string("a") + le(~uint64_t{0}))); },
       Code::corrupt,
       {"'k'"}},
      {"too many array elements",
       [](GgufFile& f) { add(f, "k", 9, array(0, (1 << 25) + 1, "")); },
       Code::corrupt,
       {"'k'", "33554433"}},
      {"an alignment of another type",
       [](GgufFile& f) { add(f, "general.alignment", 8, gguf_string("32")); },
       Code::corrupt,
       {"'general.alignment'", "unsigned integer"}},
      {"alignment 0",
       [](GgufFile& f) { f.set_u32("general.alignment", 0); },
       Code::corrupt,
       {"is 0", "power of two"}},
      {"alignment 1", [](GgufFile& f) { f.set_u32("general.alignment", 1); }, Code::corrupt, {"is 1,"}},
      {"alignment 4", [](GgufFile& f) { f.set_u32("general.alignment", 4); }, Code::corrupt, {"is 4,"}},
      {"alignment 48", [](GgufFile& f) { f.set_u32("general.alignment", 48); }, Code::corrupt, {"is 48,"}},
      {"alignment 128 KiB",
       [](GgufFile& f) { f.set_u32("general.alignment", 1 << 17); },
       Code::corrupt,
       {"131072"}},
      {"alignment 2^63",
       [](GgufFile& f) { add(f, "general.alignment", 10, le(uint64_t{1} << 63)); },
       Code::corrupt,
       {"65536"}},
      {"a split count past five digits",
       [](GgufFile& f) { f.set_u32("split.count", 100000); },
       Code::corrupt,
       {"'split.count'", "100000"}},
      {"a negative split count",
       [](GgufFile& f) { add(f, "split.count", 5, le(-2)); },
       Code::corrupt,
       {"'split.count'"}},
      {"a split count that is text",
       [](GgufFile& f) { add(f, "split.count", 8, gguf_string("2")); },
       Code::corrupt,
       {"'split.count'"}},
      {"one part where two belong",
       [](GgufFile& f) { f.set_u32("split.count", 2); },
       Code::invalid_argument,
       {"2 parts, 1 were given"}},
  });
}

TEST_CASE("malformed tensor entries", "[gguf][malformed]") {
  const auto first = [](auto change) { return [change](GgufFile& f) { change(f.tensors[0]); }; };
  using Tensor = GgufFile::Tensor;
  check_all({
      {"an empty name", first([](Tensor& t) { t.name = ""; }), Code::corrupt, {"name is empty"}},
      {"a zero byte in the name",
       first([](Tensor& t) { t.name[1] = '\0'; }),
       Code::corrupt,
       {"n\\x00rm.weight"}},
      {"a name that is too long",
       first([](Tensor& t) { t.name.assign(70000, 'n'); }),
       Code::corrupt,
       {"70000"}},
      {"a name twice",
       [](GgufFile& f) { f.tensors[2].name = "norm.weight"; },
       Code::corrupt,
       {"'norm.weight'", "twice"}},
      {"no dimensions",
       first([](Tensor& t) { t.ne = {}; }),
       Code::corrupt,
       {"'norm.weight'", "0 dimensions"}},
      {"five dimensions",
       first([](Tensor& t) {
         t.ne = {4, 4, 4, 1, 1};
       }),
       Code::corrupt,
       {"5 dimensions"}},
      {"a dimension of 0", first([](Tensor& t) { t.ne = {0}; }), Code::corrupt, {"dimension 0 is 0"}},
      {"a later dimension of 0",
       first([](Tensor& t) {
         t.ne = {64, 0};
       }),
       Code::corrupt,
       {"dimension 1 is 0"}},
      {"a dimension of 2^64 - 1", first([](Tensor& t) { t.ne = {~uint64_t{0}}; }), Code::corrupt, {"2^48"}},
      {"a product that wraps to 0",
       first([](Tensor& t) {
         t.ne = {1ull << 32, 1ull << 32};
       }),
       Code::corrupt,
       {"2^48"}},
      {"a product that wraps to 64",
       first([](Tensor& t) {
         t.ne = {64, (1ull << 58) + 1};
       }),
       Code::corrupt,
       {"2^48"}},
      {"more than 2^48 elements",
       first([](Tensor& t) {
         t.ne = {1ull << 48, 2};
       }),
       Code::corrupt,
       {"2^48"}},
      {"a size that ends past the file",
       first([](Tensor& t) { t.ne = {1ull << 48}; }),
       Code::corrupt,
       {"'norm.weight'", "past the file's"}},
      {"an unknown type",
       first([](Tensor& t) { t.type = 1000; }),
       Code::unsupported,
       {"'norm.weight'", "type 1000"}},
      {"type 2^32 - 1", first([](Tensor& t) { t.type = ~0u; }), Code::unsupported, {"4294967295"}},
      {"removed type 4", first([](Tensor& t) { t.type = 4; }), Code::unsupported, {"q4_2", "removed"}},
      {"removed type 5", first([](Tensor& t) { t.type = 5; }), Code::unsupported, {"q4_3", "removed"}},
      {"removed type 31", first([](Tensor& t) { t.type = 31; }), Code::unsupported, {"q4_0_4_4", "removed"}},
      {"removed type 32", first([](Tensor& t) { t.type = 32; }), Code::unsupported, {"q4_0_4_8", "removed"}},
      {"removed type 33", first([](Tensor& t) { t.type = 33; }), Code::unsupported, {"q4_0_8_8", "removed"}},
      {"removed type 36",
       first([](Tensor& t) { t.type = 36; }),
       Code::unsupported,
       {"iq4_nl_4_4", "removed"}},
      {"activation type 9", first([](Tensor& t) { t.type = 9; }), Code::unsupported, {"q8_1", "activations"}},
      {"rows that no block divides",
       [](GgufFile& f) {
         f.tensors[1].ne = {48, 2};
       },
       Code::corrupt,
       {"'proj.weight'", "48", "multiple of 32", "q8_0"}},
      {"rows that divide only together",
       [](GgufFile& f) {
         f.tensors[1].ne = {16, 2};
       },
       Code::corrupt,
       {"'proj.weight'", "16"}},
      {"an offset off the alignment",
       [](GgufFile& f) { f.tensors[1].offset = 264; },
       Code::corrupt,
       {"'proj.weight'", "264", "alignment 32"}},
      {"an offset past the end",
       [](GgufFile& f) { f.tensors[2].offset = 4096; },
       Code::corrupt,
       {"'cube.weight'", "4096", "past the file's"}},
      {"an offset that wraps",
       [](GgufFile& f) { f.tensors[2].offset = ~uint64_t{31}; },
       Code::corrupt,
       {"'cube.weight'", "18446744073709551584"}},
      {"an extent that wraps",
       [](GgufFile& f) { f.tensors[2].offset = (~uint64_t{0} >> 1) & ~uint64_t{31}; },
       Code::corrupt,
       {"'cube.weight'"}},
      {"two tensors at one offset",
       [](GgufFile& f) { f.tensors[1].offset = 0; },
       Code::corrupt,
       {"'norm.weight'", "inside tensor 'proj.weight'"}},
      {"a tensor inside another",
       [](GgufFile& f) { f.tensors[2].offset = 352; },
       Code::corrupt,
       {"'cube.weight'", "inside tensor 'proj.weight'"}},
      {"no data at all",
       [](GgufFile& f) { f.data.clear(); },
       Code::corrupt,
       {"'norm.weight'", "past the file's"}},
      {"one byte short",
       [](GgufFile& f) { f.data.pop_back(); },
       Code::corrupt,
       {"'cube.weight'", "incomplete"}},
      {"an alignment the offsets break",
       [](GgufFile& f) {
         f.set_u32("general.alignment", 64);
         f.alignment = 64;
       },
       Code::corrupt,
       {"'cube.weight'", "416", "alignment 64"}},
  });
}

TEST_CASE("files with no tensors load", "[gguf]") {
  GgufFile file = small_gguf();
  file.tensors.clear();
  file.data.clear();
  for (const std::string& bytes : {file.header(), file.bytes()}) {  // without and with padding
    const CheckpointPtr vocabulary = open_gguf({in_memory(bytes)}, types());
    CHECK(vocabulary->tensors().empty());
    CHECK(vocabulary->need_int("llama.block_count") == 2);
  }
  file.keys.clear();
  CHECK(open_gguf({in_memory(file.header())}, types())->meta_keys().empty());
}

TEST_CASE("what is unusual but sound loads", "[gguf]") {
  SECTION("tensors out of order, with a hole between them") {
    GgufFile file = small_gguf();
    std::swap(file.tensors[0], file.tensors[2]);
    file.tensors[0].offset = 448;
    file.data.resize(448 + 48);
    const std::string bytes = file.bytes();
    CHECK(open_gguf({in_memory(bytes)}, types())->tensors().size() == 3);
  }
  SECTION("bytes after the last tensor") {
    const std::string bytes = small_gguf().bytes() + std::string(100, 'x');
    CHECK(open_gguf({in_memory(bytes)}, types())->tensors().size() == 3);
  }
  SECTION("empty arrays and strings, strings with zero bytes") {
    GgufFile file = small_gguf();
    add(file, "ints", 9, array(5, 0, ""));
    add(file, "texts", 9, array(8, 1, gguf_string(std::string("\0x", 2))));
    add(file, "text", 8, gguf_string(""));
    const std::string bytes = file.bytes();
    const CheckpointPtr loaded = open_gguf({in_memory(bytes)}, types());
    CHECK(loaded->find_ints("ints")->empty());
    CHECK(loaded->find_strings("texts")->front() == std::string("\0x", 2));
    CHECK(loaded->need_string("text").empty());
  }
  SECTION("alignments from 8 to 65536") {
    for (const uint32_t alignment : {8u, 16u, 65536u}) {
      GgufFile file = small_gguf();
      file.tensors.resize(1);
      file.alignment = alignment;
      file.set_u32("general.alignment", alignment);
      const std::string bytes = file.bytes();
      const CheckpointPtr loaded = open_gguf({in_memory(bytes)}, types());
      CHECK(loaded->tensors()[0].offset % alignment == 0);
    }
  }
  SECTION("a header that is longer than the reader's window") {
    GgufFile file = small_gguf();
    std::string texts, numbers;
    for (uint32_t i = 0; i < 20000; ++i) {
      texts += gguf_string("token " + std::to_string(i));
      numbers += le(i);
    }
    add(file, "texts", 9, array(8, 20000, texts));
    add(file, "numbers", 9, array(4, 20000, numbers));
    add(file, "long", 8, gguf_string(std::string(100000, 'l')));
    const std::string bytes = file.bytes();
    const CheckpointPtr loaded = open_gguf({behind_reader(bytes)}, types());
    CHECK(loaded->find_strings("texts")->at(19999) == "token 19999");
    CHECK(loaded->find_ints("numbers")->at(12345) == 12345);
    CHECK(loaded->need_string("long") == std::string(100000, 'l'));
    CHECK(bytes_in(*loaded, "norm.weight").size() == 256);
  }
}

TEST_CASE("sources that are missing or null are refused", "[gguf]") {
  check_refused([] { open_gguf(std::vector<ByteSourcePtr>{}, types()); }, Code::invalid_argument,
                {"no source"});
  check_refused([] { open_gguf(std::vector<ByteSourcePtr>{nullptr}, types()); }, Code::invalid_argument,
                {"null"});
  check_refused([] { open_gguf("/nowhere/model.gguf", types()); }, Code::not_found, {"/nowhere/model.gguf"});
}

TEST_CASE("looks_like_gguf needs no more than the magic", "[gguf]") {
  for (const auto& [bytes, expected] : {std::pair<std::string, bool>{"", false},
                                        {"GGU", false},
                                        {"GGUF", true},
                                        {"GGUFxyz", true},
                                        {"ggufxyz", false}}) {
    INFO(bytes);
    CHECK(looks_like_gguf(*behind_reader(bytes)) == expected);
  }
}

// ggml-org/llama.cpp#24884: files of 37 bytes, of one key and nothing else.
TEST_CASE("a file of one empty key is refused, whatever its value", "[gguf][malformed]") {
  for (uint32_t type = 0; type <= 12; ++type) {
    CAPTURE(type);
    GgufFile file;
    file.alignment = 0;
    std::string value(type == 8 || type >= 10 ? 8 : 4, '\0');
    if (type == 9) value = array(4, 1, le(1u));
    add(file, "", type, value);
    const std::string bytes = file.bytes();
    check_refused([&] { open_gguf({in_memory(bytes)}, types()); }, Code::corrupt, {"key is empty"});
    // Cut off within the value too.
    for (size_t n = 0; n < bytes.size(); ++n) {
      const std::string cut(bytes, 0, n);
      const Error error = tests::error_of([&] { open_gguf({in_memory(cut)}, types()); });
      CHECK((error.code() == Code::corrupt || error.code() == Code::unsupported));
    }
  }
}
