// Kinds of vulnerabilities that public advisories tell of other programs, as far as files, vocabularies and
// tokenizers are concerned: each file here has the one thing wrong, and is refused by an error that names it.
// In brackets an advisory of the kind.
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include "api/mutants.h"
#include "api/support.h"
#include "support/errors.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

std::string model_bytes() {
  std::ifstream in(tiny_model(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Error load_error(const std::string& bytes) {
  return error_of([&] { Model::load(one_thread(), std::as_bytes(std::span(bytes))); });
}

// The model's file with one thing wrong.
void check_refused(const std::function<void(GgufFields&)>& spoil, Code code, const std::string& named) {
  static const GgufFields good(model_bytes());
  GgufFields file = good;
  spoil(file);
  const Error e = load_error(file.bytes());
  INFO(e.what());
  CHECK(e.code() == code);
  CHECK(contains(e.what(), named));
}

GgufFields::Key& key(GgufFields& f, const std::string& name) {
  for (GgufFields::Key& k : f.keys)
    if (k.name == name) return k;
  throw std::runtime_error("no key " + name);
}
GgufFields::Tensor& tensor(GgufFields& f, const std::string& name) {
  for (GgufFields::Tensor& t : f.tensors)
    if (t.name == name) return t;
  throw std::runtime_error("no tensor " + name);
}
void set_number(GgufFields& f, const std::string& name, uint64_t value) {
  std::string& bytes = key(f, name).values[0];
  std::memcpy(bytes.data(), &value, bytes.size());
}
void add_u32(GgufFields& f, const std::string& name, uint32_t value) {
  GgufFields::Key k;
  k.name = name;
  k.type = 4;
  k.count = 1;
  put(k.values.emplace_back(), value);
  f.keys.push_back(k);
  f.n_keys = f.keys.size();
}

constexpr const char* kNorm = "output_norm.weight";  // f32 [32]
constexpr const char* kTable = "token_embd.weight";  // q8_0 [320, 32]

}  // namespace

TEST_CASE("counts and lengths larger than the file are refused before memory is taken [CVE-2024-23496]",
          "[api][vulnerabilities]") {
  for (const uint64_t n :
       {uint64_t{1} << 20, uint64_t{1} << 31, (uint64_t{1} << 32) + 5, uint64_t{1} << 60, ~uint64_t{0}}) {
    CAPTURE(n);
    check_refused([&](GgufFields& f) { f.n_tensors = n; }, Code::corrupt, "");
    check_refused([&](GgufFields& f) { f.n_keys = n; }, Code::corrupt, "");
    check_refused([&](GgufFields& f) { key(f, "tokenizer.ggml.tokens").count = n; }, Code::corrupt, "tokens");
    check_refused([&](GgufFields& f) { f.long_string = n, f.long_at = 3; }, Code::corrupt, "");
  }
}

TEST_CASE("dimensions whose product wraps are refused [CVE-2024-21802, CVE-2026-27940]",
          "[api][vulnerabilities]") {
  const std::vector<std::vector<uint64_t>> shapes{
      {uint64_t{1} << 33, uint64_t{1} << 31},
      {uint64_t{1} << 62, 4},
      {~uint64_t{0}, ~uint64_t{0}},
      {(uint64_t{1} << 62) + 8},
      {uint64_t{1} << 63},
      {uint64_t{1} << 16, uint64_t{1} << 16, uint64_t{1} << 16, uint64_t{1} << 16}};
  for (const auto& shape : shapes)
    check_refused(
        [&](GgufFields& f) {
          tensor(f, kNorm).ne = shape;
          tensor(f, kNorm).n_dims = static_cast<uint32_t>(shape.size());
        },
        Code::corrupt, kNorm);
}

TEST_CASE(
    "sizes whose padding wraps, and extents beyond the file, are refused [CVE-2025-53630, CVE-2026-7482]",
    "[api][vulnerabilities]") {
  for (const uint64_t offset : {~uint64_t{0} - 31, ~uint64_t{0} - 63, uint64_t{1} << 63, uint64_t{1} << 20})
    check_refused([&](GgufFields& f) { tensor(f, kNorm).offset = offset; }, Code::corrupt, kNorm);
  check_refused([](GgufFields& f) { tensor(f, kNorm).offset = tensor(f, kTable).offset; }, Code::corrupt, "");
  check_refused([](GgufFields& f) { f.data.resize(f.data.size() - 64); }, Code::corrupt, "");
}

TEST_CASE("a dimension of zero and an alignment of zero divide nothing [CVE-2024-8063, CVE-2025-0317]",
          "[api][vulnerabilities]") {
  check_refused([](GgufFields& f) { tensor(f, kTable).ne[0] = 0; }, Code::corrupt, kTable);
  check_refused([](GgufFields& f) { tensor(f, kTable).ne[1] = 0; }, Code::corrupt, kTable);
  for (const uint32_t alignment : {0u, 3u, 1u << 30, ~0u})
    check_refused([&](GgufFields& f) { add_u32(f, "general.alignment", alignment); }, Code::corrupt,
                  "general.alignment");
}

TEST_CASE(
    "hyperparameters of zero, or against each other, are refused by key [CVE-2024-39720, CVE-2025-0315]",
    "[api][vulnerabilities]") {
  for (const char* name : {"qwen2.block_count", "qwen2.embedding_length", "qwen2.attention.head_count",
                           "qwen2.attention.head_count_kv", "qwen2.feed_forward_length"})
    for (const uint64_t value : {uint64_t{0}, uint64_t{0xFFFFFFFF}, uint64_t{0x80000000}}) {
      CAPTURE(name, value);
      static const GgufFields good(model_bytes());
      GgufFields file = good;
      set_number(file, name, value);
      const Error e = load_error(file.bytes());
      INFO(e.what());
      CHECK((e.code() == Code::corrupt || e.code() == Code::unsupported));
    }
}

// A context of any length is a promise that takes no memory; none at all is refused.
TEST_CASE("a context of zero is refused, a vast one takes no memory before it is used",
          "[api][vulnerabilities]") {
  check_refused([](GgufFields& f) { set_number(f, "qwen2.context_length", 0); }, Code::corrupt,
                "context_length");
  GgufFields file(model_bytes());
  set_number(file, "qwen2.context_length", 0xFFFFFFFF);
  const std::string bytes = file.bytes();
  const Model model = Model::load(one_thread(), std::as_bytes(std::span(bytes)));
  Session session(model);
  session.feed(std::vector<TokenId>{1, 2, 3});
  CHECK(session.tokens().size() == 3);
}

TEST_CASE("files of a few bytes are no models [CVE-2024-39720]", "[api][vulnerabilities]") {
  for (const std::string bytes : {"", "G", "GGUF", "GGUF\3", "GGUF\3\0\0"})
    CHECK(load_error(bytes).code() == Code::corrupt);
}

TEST_CASE("what is no regular file is no model, and is not waited for [CVE-2026-5530]",
          "[api][vulnerabilities]") {
  const TempDir dir;
  const std::string pipe = dir.path() + "/pipe.gguf";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), std::string("/dev/null")})
    for (const bool map : {true, false}) {
      CAPTURE(path, map);
      CHECK(code_of([&] { Model::load(one_thread(), path, {.map = map}); }) != Code::ok);
      CHECK(code_of([&] { inspect(path); }) != Code::ok);
    }
}

TEST_CASE("a token's text of odd bytes is no index [llama.cpp 25969]", "[api][vulnerabilities]") {
  for (const char* text : {"<0x-1>", "<0xZZ>", "<0x>", "<0x100>", "<0x0", "<0x\xFF\xFF>"}) {
    CAPTURE(text);
    static const GgufFields good(model_bytes());
    GgufFields file = good;
    GgufFields::Key& types = key(file, "tokenizer.ggml.token_type");
    key(file, "tokenizer.ggml.tokens").values[5] = text;
    const int32_t byte = 6;
    std::memcpy(types.values[5].data(), &byte, sizeof byte);
    try {
      const std::string bytes = file.bytes();
      const Model model = Model::load(one_thread(), std::as_bytes(std::span(bytes)));
      (void)model.tokenizer().encode("!<0x-1><0xZZ>");
      (void)model.tokenizer().decode(std::vector<TokenId>{5});
    } catch (const Error& e) {
      CHECK(e.code() == Code::corrupt);
    }
  }
}

TEST_CASE("special ids outside the vocabulary are refused [CVE-2025-49847]", "[api][vulnerabilities]") {
  for (const char* name :
       {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.padding_token_id"})
    for (const uint64_t id : {uint64_t{320}, uint64_t{0x7FFFFFFF}, uint64_t{0xFFFFFFFF}})
      check_refused([&](GgufFields& f) { set_number(f, name, id); }, Code::corrupt, name);
  check_refused(
      [](GgufFields& f) {
        key(f, "tokenizer.ggml.token_type").values.pop_back(), --key(f, "tokenizer.ggml.token_type").count;
      },
      Code::corrupt, "token_type");
  check_refused([](GgufFields& f) { key(f, "tokenizer.ggml.merges").values[0] = "no such pair"; },
                Code::corrupt, "merges");
}

TEST_CASE("long runs of one character need neither stack nor time out of proportion [llama.cpp 14655]",
          "[api][vulnerabilities]") {
  const Model model = Model::load(one_thread(), tiny_model());
  for (const char* piece : {"a", " ", "\n", "1", "\xE4\xB8\xAD", "!", "\xCC\x81", "\xFF"}) {
    std::string text;
    while (text.size() < (1 << 20)) text += piece;
    CHECK(model.tokenizer().encode(text).size() > 0);
  }
}

TEST_CASE("a template of a file runs in its bounds and reaches nothing [CVE-2024-34359, CVE-2026-5760]",
          "[api][vulnerabilities]") {
  const auto render = [](const std::string& source) {
    const Runtime runtime = one_thread();
    const Message message{"user", "hi"};
    return scripted(runtime, "x", source).apply_chat_template({&message, 1});
  };
  for (const char* source :
       {"{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__.__init__.__globals__['os'].system('x') }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{% for i in range(100000000) %}x{% endfor %}",
        "{{ 'x' * 1000000000000 }}", "{{ lipsum.__globals__ }}", "{% include '/etc/passwd' %}",
        "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor "
        "%}{% endfor %}"}) {
    CAPTURE(source);
    std::string got;
    const Code code = code_of([&] { got = render(source); });
    CHECK((code != Code::ok || got.empty()));
    CHECK(code != Code::internal);
  }
}

TEST_CASE("a folder's index leads nowhere else [CVE-2024-37032, CVE-2024-27318]", "[api][vulnerabilities]") {
  const TempDir dir;
  dir.write("config.json", R"({"model_type": "qwen2"})");
  for (const char* path : {"../x.safetensors", "/etc/passwd", "a/../../x", "..", ".", "", "a\\u0000b"}) {
    CAPTURE(path);
    dir.write("model.safetensors.index.json", std::string(R"({"weight_map": {"a": ")") + path + "\"}}");
    const Error e = error_of([&] { Model::load(one_thread(), dir.path()); });
    CHECK((e.code() == Code::corrupt || e.code() == Code::invalid_argument || e.code() == Code::unsupported));
  }
}

TEST_CASE("safetensors headers that claim much, overlap or leave holes are refused",
          "[api][vulnerabilities]") {
  const TempDir dir;
  dir.write("config.json", R"({"model_type": "qwen2"})");
  const auto refused = [&](uint64_t length, const std::string& header, const std::string& data) {
    std::string bytes;
    put(bytes, length ? length : header.size());
    dir.write("model.safetensors", bytes + header + data);
    const Error e = error_of([&] { Model::load(one_thread(), dir.path()); });
    INFO(e.what());
    CHECK(e.code() == Code::corrupt);
    CHECK(contains(e.what(), "model.safetensors"));
  };
  const std::string eight(8, 'x');
  for (const uint64_t n : {uint64_t{1} << 20, uint64_t{1} << 40, uint64_t{1} << 63, ~uint64_t{0}})
    refused(n, "{}", eight);
  refused(0, std::string(1000, '['), eight);
  refused(
      0,
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      eight);
  refused(0, R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight);
  refused(0, R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", eight);
  refused(0, R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", eight);
  refused(0, R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})", eight);
}
