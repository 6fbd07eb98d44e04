// What other engines got wrong, by public reports: one test for each kind, on the vocabulary of the report
// where it is at hand, and on small ones.
#include "hf_folder.h"
#include "made_vocab.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

std::shared_ptr<const text::Tokenizer> real(const std::string& name) {
  const std::string folder = vocab_folder();
  if (folder.empty()) {
    WARN("skipped: no vocabularies; cmake/fetch_vocabs.py fetches them");
    return nullptr;
  }
  return open_tokenizer(folder + "/ggml-vocab-" + name + ".gguf");
}

std::shared_ptr<const text::Tokenizer> trained(const std::string& name, const std::string& file) {
  const std::string path = trained_folder() + "/" + name + "/" + file;
  return file.ends_with("json") ? text::load_tokenizer_json(read_bytes(path), path)
                                : text::load_sentencepiece(read_bytes(path), path);
}

}  // namespace

TEST_CASE("a word that is a token is taken whole, whatever its merges") {  // ggml-org/llama.cpp#7193
  if (const auto t = real("llama-bpe")) CHECK(show(t->encode(" Việt", {})) == "101798 ");
  const std::string rest = R"("vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4,"abc":5},"merges":["b c"]}})";
  const auto whole =
      text::load_tokenizer_json(R"({"model":{"type":"BPE","ignore_merges":true,)" + rest, "made.json");
  const auto merged = text::load_tokenizer_json(R"({"model":{"type":"BPE",)" + rest, "made.json");
  CHECK(show(whole->encode("abc", {})) == "5 ");
  CHECK(show(merged->encode("abc", {})) == "0 4 ");
}

TEST_CASE("the first word keeps its mark, and what is no token becomes bytes") {  // ggml-org/llama.cpp#167
  const std::string text = "This is 🦙.cpp";
  if (const auto t = real("llama-spm")) {
    CHECK(show(t->encode(text, {.add_special = true})) == "1 910 338 29871 243 162 169 156 29889 8223 ");
  }
  for (const auto& t : {trained("spm-llama", "tokenizer.json"), trained("spm-llama", "tokenizer.model")}) {
    const auto ids = t->encode(text, {.add_special = true});
    REQUIRE(ids.size() > 6);
    CHECK(ids[0] == t->special().bos);
    CHECK(t->token_text(ids[1]).starts_with("▁"));
    std::string bytes;
    for (const text::TokenId id : ids) {
      if (t->kind(id) == text::TokenKind::byte) bytes += t->piece(id);
    }
    CHECK(bytes == "🦙");
    CHECK(t->decode(ids, true) == text);
  }
}

TEST_CASE("bytes that are no whole character encode") {  // ggml-org/llama.cpp#8691
  if (const auto t = real("llama-bpe")) {
    CHECK(show(t->encode("\xE6\xAD", {})) == "15722 ");
    CHECK(show(t->encode("\xE6\xAD\xAA", {})) == "15722 103 ");
  }
  for (const auto& entry : std::filesystem::directory_iterator(trained_folder())) {
    for (const char* file : {"tokenizer.json", "tokenizer.model"}) {
      if (!std::filesystem::exists(entry.path() / file)) continue;
      const std::string name = entry.path().filename().string();
      INFO(name << " " << file);
      const auto t = trained(name, file);
      for (const std::string bytes :
           {"\xE6\xAD", "\xFF", "\xC0\x80", "a\xED\xA0\x80z", "\xF4\x90\x80\x80", "\x80\x80", "é\xC3"}) {
        const auto ids = t->encode(bytes, {.parse_special = true, .add_special = true});
        CHECK_NOTHROW(t->decode(ids, true));
        // These rewrite their texts, or decode one of their own tokens to another character.
        if (!name.starts_with("bpe-") || name == "bpe-clip" || name == "bpe-roberta" || name == "bpe-neox")
          continue;
        std::string back;
        for (const text::TokenId id : t->encode(bytes, {})) back += t->piece(id);
        CHECK(back == bytes);
      }
    }
  }
}

TEST_CASE("a role token that takes the white space behind it does so") {  // microsoft/onnxruntime-genai#1248
  const std::string text = "<|system|>\nYou<|end|>\n<|user|>\nHi";
  if (const auto t = real("phi-3")) {
    const auto ids = t->encode(text, {.parse_special = true});
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      if (ids[i] == 32006 || ids[i] == 32007) CHECK(ids[i + 1] != 13);
    }
    CHECK(std::count(ids.begin(), ids.end(), 32006) == 1);
  }
  const auto made = [](const std::string& flags) {
    std::string json = R"({"added_tokens":[)";
    int id = 3;
    for (const char* role : {"<|system|>", "<|end|>", "<|user|>"}) {
      if (id > 3) json += ",";
      json +=
          R"({"id":)" + std::to_string(id) + R"(,"content":")" + role + R"(","special":true,)" + flags + "}";
      ++id;
    }
    return text::load_tokenizer_json(
        json +
            R"(],"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\n"},"behavior":"Isolated","invert":false},)" +
            R"("model":{"type":"WordLevel","unk_token":"You","vocab":{"\n":0,"You":1,"Hi":2}}})",
        "made.json");
  };
  CHECK(show(made(R"("rstrip":true)")->encode(text, {.parse_special = true})) == "3 1 4 5 2 ");
  CHECK(show(made(R"("rstrip":false)")->encode(text, {.parse_special = true})) == "3 0 1 4 0 5 0 2 ");
}

TEST_CASE(
    "a vocabulary without BOS gets none, and one that is no id is refused") {  // ggml-org/llama.cpp#7898
  if (const auto t = real("qwen2")) {
    CHECK_FALSE(t->special().add_bos);
    CHECK(t->encode("Hello", {.add_special = true}) == t->encode("Hello", {}));
  }
  MadeCheckpoint c = made_bpe();
  c.set("pre", "qwen2");
  const auto none = text::load_gguf_tokenizer(c);
  CHECK_FALSE(none->special().bos);
  CHECK(show(none->encode("ab", {.add_special = true})) == "4 ");
  c.set_bool("add_bos_token", true);
  CHECK(error_of([&] { text::load_gguf_tokenizer(c); }).code() == Code::corrupt);
  for (const int64_t id : {int64_t{10}, int64_t{-1}, int64_t{1} << 40}) {
    c.set_id("bos_token_id", id);
    CHECK(error_of([&] { text::load_gguf_tokenizer(c); }).code() == Code::corrupt);
  }
  c.set_id("bos_token_id", 7);
  CHECK(show(text::load_gguf_tokenizer(c)->encode("ab", {.add_special = true})) == "7 4 ");
}
