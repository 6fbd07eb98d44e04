// safetensors: a file of the reference, and each rule of the format broken once.
#include "formats/safetensors.h"

#include "gguf_builder.h"
#include "support.h"

using namespace ingle;
using namespace ingle::formats;
using namespace ingle::formats::test;

namespace {

std::string with_data(const std::string& header, size_t data_bytes) {
  return le<uint64_t>(header.size()) + header + std::string(data_bytes, 'd');
}

constexpr const char* kSmall =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[6,22]},)"
    R"("a":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}}  )";

struct Broken {
  const char* name;
  std::string bytes;
  Code code;
  std::vector<std::string> text;
};

// One tensor, its entry written out.
std::string entry(const std::string& fields, size_t data_bytes = 4) {
  return with_data(R"({"t":{)" + fields + "}}", data_bytes);
}

void check_all(const std::vector<Broken>& cases) {
  for (const Broken& broken : cases) {
    DYNAMIC_SECTION(broken.name) {
      std::vector<std::string> text = broken.text;
      text.push_back("test.bin");
      check_refused([&] { open_safetensors(in_memory(broken.bytes), types()); }, broken.code, text);
      check_refused([&] { open_safetensors(behind_reader(broken.bytes), types()); }, broken.code, text);
    }
  }
}

}  // namespace

TEST_CASE("a small safetensors file loads", "[safetensors]") {
  const std::string bytes = with_data(kSmall, 22);
  for (const auto& source : {in_memory(bytes), behind_reader(bytes)}) {
    const CheckpointPtr file = open_safetensors(source, types());
    CHECK(file->naming() == Naming::hugging_face);
    REQUIRE(file->tensors().size() == 2);
    CHECK(file->tensors()[0].name == "a");  // by offset
    CHECK(file->find("a")->type == DType::bf16);
    CHECK(file->find("b")->shape == Shape{2, 2});
    CHECK(file->find("b")->bytes == 16);
    CHECK(bytes_in(*file, "b") == Bytes(16, std::byte{'d'}));
    CHECK(file->need_string("format") == "pt");
    CHECK(file->meta_keys() == std::vector<std::string>{"format"});
    CHECK(file->meta("__metadata__") == nullptr);
  }
}

TEST_CASE("a file of the reference writer loads", "[safetensors]") {
  for (const bool map : {true, false}) {
    const CheckpointPtr file =
        open_safetensors(data_path("container_gguf_expected.safetensors"), types(), map);
    CHECK(file->tensors().size() == 5);
    CHECK(file->find("expected")->shape == Shape{1, 64});
    CHECK(file->find("blk.0.attn_q.weight.packed")->type == DType::u8);
    CHECK(bytes_in(*file, "token_embd.weight").size() == 768);
  }
}

TEST_CASE("what is unusual but sound in safetensors loads", "[safetensors]") {
  const auto open = [](const std::string& bytes) { return open_safetensors(behind_reader(bytes), types()); };
  CHECK(open(with_data("{}", 0))->tensors().empty());
  CHECK(open(with_data("{}   \n", 0))->tensors().empty());
  const auto scalar = open(entry(R"("dtype":"F32","shape":[],"data_offsets":[0,4])"));
  CHECK(scalar->find("t")->shape.rank() == 0);
  CHECK(scalar->find("t")->bytes == 4);
  const auto empty = open(entry(R"("dtype":"F32","shape":[0,5],"data_offsets":[0,0])", 0));
  CHECK(empty->find("t")->bytes == 0);
  CHECK(bytes_in(*empty, "t").empty());
  const auto five = open(entry(R"("dtype":"U8","shape":[1,2,3,4,5],"data_offsets":[0,120])", 120));
  CHECK(five->find("t")->shape == Shape{1, 2, 3, 20});
  const auto half_bytes = open(entry(R"("dtype":"F4","shape":[8],"data_offsets":[0,4])"));
  CHECK(half_bytes->find("t")->bytes == 4);
  const auto unicode = open(with_data(R"({"t\u00e9":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  CHECK(unicode->find("t\xc3\xa9") != nullptr);
}

TEST_CASE("malformed safetensors headers", "[safetensors][malformed]") {
  const std::string deep = std::string(100000, '[');
  check_all({
      {"an empty file", "", Code::corrupt, {"0 bytes"}},
      {"seven bytes", "1234567", Code::corrupt, {"7 bytes"}},
      {"a header of no bytes", with_data("", 8), Code::corrupt, {"length is 0"}},
      {"a header past the end", le<uint64_t>(100) + "{}", Code::corrupt, {"length is 100"}},
      {"a header of 2^64 - 1", le(~uint64_t{0}) + "{}", Code::corrupt, {"18446744073709551615"}},
      {"a header past the limit", le<uint64_t>(100'000'001) + "{}", Code::corrupt, {"100000001"}},
      {"not JSON", with_data("hello, world", 0), Code::corrupt, {"'{'"}},
      {"spaces before the object", with_data(" {}", 0), Code::corrupt, {"'{'"}},
      {"a byte order mark", with_data("\xef\xbb\xbf{}", 0), Code::corrupt, {"'{'"}},
      {"an object that does not end", with_data("{\"t\":", 0), Code::corrupt, {"not valid JSON"}},
      {"two objects", with_data("{}{}", 0), Code::corrupt, {"not valid JSON"}},
      {"zero bytes after the object",
       with_data(std::string("{}\0\0", 4), 0),
       Code::corrupt,
       {"zero byte", "offset 10"}},
      {"invalid UTF-8", with_data("{\"\xff\":{}}", 0), Code::corrupt, {"not valid JSON"}},
      {"a comment", with_data("{/* */}", 0), Code::corrupt, {"not valid JSON"}},
      {"a deep nest in place of a tensor",
       with_data("{\"t\":" + deep, 0),
       Code::corrupt,
       {"'t'", "an array"}},
      {"a deep nest in a shape", entry("\"shape\":" + deep), Code::corrupt, {"'t'", "shape"}},
      {"a deep nest of objects",
       entry("\"dtype\":{\"a\":{\"b\":{}}}"),
       Code::corrupt,
       {"'dtype'", "an object"}},
      {"a number that no double holds", entry("\"shape\":[1e999]"), Code::corrupt, {"not valid JSON"}},
      {"metadata that is text",
       with_data(R"({"__metadata__":"x"})", 0),
       Code::corrupt,
       {"__metadata__", "a string"}},
      {"metadata with a number",
       with_data(R"({"__metadata__":{"a":1}})", 0),
       Code::corrupt,
       {"'a'", "a number"}},
      {"metadata twice", with_data(R"({"__metadata__":{},"__metadata__":{}})", 0), Code::corrupt, {"twice"}},
      {"a metadata key twice",
       with_data(R"({"__metadata__":{"a":"1","a":"2"}})", 0),
       Code::corrupt,
       {"'a'", "twice"}},
  });
}

TEST_CASE("malformed safetensors entries", "[safetensors][malformed]") {
  check_all({
      {"no fields", entry(""), Code::corrupt, {"'t'", "no dtype"}},
      {"no shape", entry(R"("dtype":"F32","data_offsets":[0,4])"), Code::corrupt, {"no shape"}},
      {"no offsets", entry(R"("dtype":"F32","shape":[1])"), Code::corrupt, {"no data_offsets"}},
      {"a field of another name",
       entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"x":"y")"),
       Code::corrupt,
       {"'t'", "'x'"}},
      {"a field twice",
       entry(R"("dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4])"),
       Code::corrupt,
       {"'dtype'", "twice"}},
      {"a tensor twice",
       with_data(R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"t":{"dtype":"U8","shape":[2],)"
                 R"("data_offsets":[2,4]}})",
                 4),
       Code::corrupt,
       {"'t'", "twice"}},
      {"an unknown dtype",
       entry(R"("dtype":"F33","shape":[1],"data_offsets":[0,4])"),
       Code::unsupported,
       {"'t'", "'F33'"}},
      {"an empty dtype", entry(R"("dtype":"","shape":[1],"data_offsets":[0,4])"), Code::unsupported, {"''"}},
      {"a dtype that is a number",
       entry(R"("dtype":5,"shape":[1],"data_offsets":[0,4])"),
       Code::corrupt,
       {"'dtype'", "a number"}},
      {"a dtype of null", entry(R"("dtype":null,"shape":[1],"data_offsets":[0,4])"), Code::corrupt, {"null"}},
      {"a shape that is a number",
       entry(R"("dtype":"F32","shape":1,"data_offsets":[0,4])"),
       Code::corrupt,
       {"'shape'", "a number"}},
      {"a negative dimension",
       entry(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"),
       Code::corrupt,
       {"shape", "negative"}},
      {"a fraction of a dimension",
       entry(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"),
       Code::corrupt,
       {"shape", "fraction"}},
      {"a dimension that is a bool",
       entry(R"("dtype":"F32","shape":[true],"data_offsets":[0,4])"),
       Code::corrupt,
       {"shape", "a bool"}},
      {"a dimension that is text",
       entry(R"("dtype":"F32","shape":["1"],"data_offsets":[0,4])"),
       Code::corrupt,
       {"shape", "a string"}},
      {"17 dimensions",
       entry(R"("shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])"),
       Code::corrupt,
       {"more than 16"}},
      {"a product that wraps",
       entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])"),
       Code::corrupt,
       {"2^48"}},
      {"a product hidden by a zero",
       entry(R"("dtype":"F32","shape":[0,18446744073709551615,2],"data_offsets":[0,0])"),
       Code::corrupt,
       {"2^48"}},
      {"one offset", entry(R"("dtype":"F32","shape":[1],"data_offsets":[4])"), Code::corrupt, {"1 numbers"}},
      {"three offsets",
       entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"),
       Code::corrupt,
       {"3 numbers"}},
      {"offsets backwards",
       entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"),
       Code::corrupt,
       {"begins at 4", "ends at 0"}},
      {"offsets past the end",
       entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"),
       Code::corrupt,
       {"ends at 8", "4 bytes"}},
      {"offsets near 2^64",
       entry(R"("dtype":"F32","shape":[1],"data_offsets":[18446744073709551611,18446744073709551615])"),
       Code::corrupt,
       {"18446744073709551615"}},
      {"a size that the shape denies",
       entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"),
       Code::corrupt,
       {"4 bytes", "[2]", "8"}},
      {"half a byte",
       entry(R"("dtype":"F4","shape":[7],"data_offsets":[0,4])"),
       Code::corrupt,
       {"whole blocks"}},
      {"a hole at the start",
       entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])", 8),
       Code::corrupt,
       {"'t'", "starts at"}},
      {"bytes after the last tensor",
       entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", 5),
       Code::corrupt,
       {"tensors end at"}},
      {"data without tensors", with_data("{}", 1), Code::corrupt, {"tensors end at"}},
      {"a hole between tensors",
       with_data(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],)"
                 R"("data_offsets":[2,4]}})",
                 4),
       Code::corrupt,
       {"'b'", "before it ends at"}},
      {"tensors that overlap",
       with_data(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],)"
                 R"("data_offsets":[2,4]}})",
                 4),
       Code::corrupt,
       {"'b'", "inside tensor 'a'"}},
  });
}

TEST_CASE("missing safetensors sources are refused", "[safetensors]") {
  check_refused([] { open_safetensors(ByteSourcePtr{}, types()); }, Code::invalid_argument, {"null"});
  check_refused([] { open_safetensors("/nowhere/x.safetensors", types()); }, Code::not_found, {"/nowhere"});
}
