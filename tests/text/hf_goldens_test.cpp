// Trained tokenizers of every kind from tokenizer.json and tokenizer.model, against what the tokenizers and
// sentencepiece libraries give.
#include "hf_folder.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr const char* kNames[] = {
    "bpe-clip",         "bpe-deepseek-coder", "bpe-deepseek-llm", "bpe-deepseek-v3",
    "bpe-falcon",       "bpe-gpt2",           "bpe-llama3",       "bpe-neox",
    "bpe-o200k",        "bpe-qwen2",          "bpe-qwen35",       "bpe-roberta",
    "bpe-starcoder",    "spm-gemma",          "spm-llama",        "spm-llama-metaspace",
    "unigram-nmt-nfkc", "unigram-t5",         "unigram-xlmr",     "wordlevel",
    "wordpiece-cased",  "wordpiece-uncased"};

const std::string* field(const JsonObject& c, const char* name) {
  const auto found = c.find(name);
  return found == c.end() ? nullptr : &found->second.text;
}

std::string streamed(const text::Tokenizer& tokenizer, const std::vector<text::TokenId>& ids) {
  text::Detokenizer stream(tokenizer, false);
  std::string out;
  for (const text::TokenId id : ids) out += stream.push(id);
  return out + stream.finish();
}

void check_json(const std::string& folder, const std::string& name) {
  const auto tokenizer = text::load_tokenizer_json(read_bytes(folder + "/tokenizer.json"), name);
  for (const JsonObject& c : read_jsonl(folder + "/cases.jsonl")) {
    const std::string& text = c.at("text").text;
    INFO(name << ": '" << text << "'");
    const auto& want = c.at("ids").numbers;
    CHECK(show(tokenizer->encode(text, {.parse_special = true})) == show(want));
    const auto full = c.find("ids_special");
    const auto& want_full = full == c.end() ? want : full->second.numbers;
    CHECK(show(tokenizer->encode(text, {.parse_special = true, .add_special = true})) == show(want_full));
    const std::string& decoded = c.at("decoded").text;
    CHECK(tokenizer->decode(want, false) == decoded);
    CHECK(streamed(*tokenizer, want) == decoded);
    const std::string* skipped = field(c, "decoded_skip");
    CHECK(tokenizer->decode(want_full, true) == (skipped ? *skipped : decoded));
  }
}

void check_model(const std::string& folder, const std::string& name) {
  const auto tokenizer = text::load_sentencepiece(read_bytes(folder + "/tokenizer.model"), name);
  for (const JsonObject& c : read_jsonl(folder + "/cases.jsonl")) {
    const auto want = c.find("spm_ids");
    if (want == c.end() || want->second.is_null) continue;
    INFO(name << ": '" << c.at("text").text << "'");
    CHECK(show(tokenizer->encode(c.at("text").text, {})) == show(want->second.numbers));
    if (c.count("ids")) continue;  // `decoded` is of the other library
    CHECK(tokenizer->decode(want->second.numbers, false) == c.at("decoded").text);
    CHECK(streamed(*tokenizer, want->second.numbers) == c.at("decoded").text);
  }
}

}  // namespace

TEST_CASE("trained tokenizers give the reference's ids and texts") {
  const std::string folder = trained_folder();
  for (const std::string name : kNames) {
    const std::string here = folder + "/" + name;
    if (std::filesystem::exists(here + "/tokenizer.json")) {
      DYNAMIC_SECTION(name << " tokenizer.json") { check_json(here, name); }
    }
    if (std::filesystem::exists(here + "/tokenizer.model")) {
      DYNAMIC_SECTION(name << " tokenizer.model") { check_model(here, name); }
    }
  }
}
