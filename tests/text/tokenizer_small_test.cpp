// Small trained vocabularies of every kind, against what the tokenizers and sentencepiece libraries give.
#include "vocabs.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr const char* kSmall[] = {
    "bpe-deepseek-coder", "bpe-deepseek-llm", "bpe-deepseek-v3", "bpe-falcon",
    "bpe-gpt2",           "bpe-llama3",       "bpe-o200k",       "bpe-qwen2",
    "bpe-qwen35",         "bpe-starcoder",    "spm-gemma",       "spm-llama",
    "unigram-t5",         "unigram-xlmr",     "wordpiece-cased", "wordpiece-uncased"};

void check(const std::string& name) {
  const std::string base = INGLE_TEST_DATA "/text/small/" + name;
  const auto tokenizer = open_tokenizer(base + ".gguf");
  const bool whole_text = name.starts_with("bpe") || name.starts_with("spm");  // the others normalise
  for (const JsonObject& c : read_jsonl(base + ".cases.jsonl")) {
    std::string text = c.at("text").text;
    if (c.count("nfc")) text = text::normalize_nfc(text);
    INFO(name << ": '" << text << "'");
    const auto ids = tokenizer->encode(text, {.parse_special = c.count("plain") == 0});
    CHECK(show(ids) == show(c.at("ids").numbers));
    const auto full = c.find("ids_special");
    if (full != c.end()) {
      CHECK(show(tokenizer->encode(text, {.parse_special = true, .add_special = true})) ==
            show(full->second.numbers));
    }
    const auto decoded = c.find("decoded");
    if (whole_text)
      CHECK(tokenizer->decode(ids, false) == (decoded == c.end() ? text : decoded->second.text));
  }
}

}  // namespace

TEST_CASE("small vocabularies give the reference's ids") {
  for (const std::string name : kSmall) {
    DYNAMIC_SECTION(name) { check(name); }
  }
}
