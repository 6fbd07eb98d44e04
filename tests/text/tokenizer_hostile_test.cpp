// Vocabularies that break their own rules, and texts that are not text.
#include <cmath>

#include "core/error.h"
#include "made_vocab.h"
#include "small_stack.h"
#include "vocabs.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

void check_refused(MadeCheckpoint& c, Code code, const std::string& part) {
  INFO(part);
  try {
    text::load_gguf_tokenizer(c);
    FAIL("not refused");
  } catch (const Error& e) {
    CHECK(e.code() == code);
    CHECK(std::string(e.what()).find(part) != std::string::npos);
    CHECK(e.where().starts_with("made.gguf"));
  }
}

}  // namespace

TEST_CASE("a broken vocabulary is refused by key and index") {
  const auto broken = [](auto make, auto change, Code code, const std::string& part) {
    MadeCheckpoint c = make();
    change(c);
    check_refused(c, code, part);
  };
  using M = MadeCheckpoint&;
  broken(
      made_bpe, [](M c) { c.values.erase("tokenizer.ggml.tokens"); }, Code::corrupt, "tokens is missing");
  broken(
      made_bpe, [](M c) { c.set_strings("tokens", {}); }, Code::corrupt, "tokens is empty");
  broken(
      made_bpe, [](M c) { c.set("model", "rwkv"); }, Code::unsupported, "'rwkv'");
  broken(
      made_bpe, [](M c) { c.set("pre", "gpt-99"); }, Code::unsupported, "'gpt-99'");
  broken(
      made_bpe,
      [](M c) {
        c.set_ints("token_type", {1, 1});
      },
      Code::corrupt, "token_type has 2 entries");
  broken(
      made_bpe, [](M c) { c.types[3] = 9, c.store_tokens(); }, Code::corrupt, "token_type[3] is 9");
  broken(
      made_bpe, [](M c) { c.set_id("eos_token_id", 10); }, Code::corrupt, "eos_token_id is 10");
  broken(
      made_bpe, [](M c) { c.set_id("padding_token_id", -1); }, Code::corrupt, "padding_token_id is -1");
  broken(
      made_bpe, [](M c) { c.set_bool("add_bos_token", true); }, Code::corrupt, "bos_token_id is missing");
  broken(
      made_bpe, [](M c) { c.values.erase("tokenizer.ggml.merges"); }, Code::corrupt, "merges is missing");
  broken(
      made_bpe,
      [](M c) {
        c.set_strings("merges", {"a b", "ab"});
      },
      Code::corrupt, "merges[1] is 'ab'");
  broken(
      made_bpe, [](M c) { c.set_strings("merges", {"a "}); }, Code::corrupt, "merges[0]");
  broken(
      made_bpe, [](M c) { c.set_strings("merges", {"a a"}); }, Code::corrupt, "whose result is no token");
  broken(
      made_bpe, [](M c) { c.set_strings("merges", {"c a"}); }, Code::corrupt, "whose first part is no token");
  broken(
      made_bpe, [](M c) { c.set_strings("merges", {"a 中"}); }, Code::corrupt, "merges[0]");
  broken(
      made_spm, [](M c) { c.values.erase("tokenizer.ggml.scores"); }, Code::corrupt, "scores is missing");
  broken(
      made_spm, [](M c) { c.set_floats("scores", {1}); }, Code::corrupt, "scores has 1 entries");
  broken(
      made_spm, [](M c) { c.scores[5] = std::nan(""), c.store_tokens(); }, Code::corrupt, "scores[5]");
  broken(
      made_spm, [](M c) { c.tokens[4] = "<0xg1>", c.store_tokens(); }, Code::corrupt, "tokens[4]");
  broken(
      made_spm, [](M c) { c.tokens[4] = "<0x0a>", c.store_tokens(); }, Code::corrupt, "tokens[4]");
  broken(
      made_spm, [](M c) { c.set("tokens", "a"); }, Code::corrupt, "tokens");
}

TEST_CASE("a load ends where it is told to, whichever look it is") {
  for (const auto make : {made_bpe, made_spm}) {
    MadeCheckpoint c = make();
    int looks = 0;
    text::load_gguf_tokenizer(c, [&] { return ++looks, true; });
    CHECK(looks >= 3);
    for (int at = 0; at < looks; ++at) {
      int seen = 0;
      try {
        text::load_gguf_tokenizer(c, [&] { return seen++ < at; });
        FAIL("not cancelled");
      } catch (const Error& e) {
        CHECK(e.code() == Code::cancelled);
        CHECK(seen == at + 1);
      }
    }
  }
}

TEST_CASE("a broken normaliser is refused or matches nothing") {
  const auto unigram = [] {
    MadeCheckpoint c;
    c.set("model", "t5");
    c.add("<pad>", 3), c.add("</s>", 3), c.add("<unk>", 2);
    c.add("▁", 1, -2), c.add("a", 1, -1), c.add("▁a", 1, -1.5);
    c.store_tokens();
    return c;
  };
  MadeCheckpoint c = unigram();
  const auto plain = std::make_shared<text::GgufTokenizer>(c);
  CHECK(show(plain->encode("a a", {})) == "5 5 ");
  CHECK(show(plain->encode("a??b", {.add_special = true})) == "5 2 1 ");
  for (const std::vector<int64_t>& blob : {std::vector<int64_t>{1, 0, 0},
                                           {8, 0, 0, 0, 1, 2, 3, 4, 0},
                                           {3, 0, 0, 0, 1, 2, 3, 0, 0},
                                           {4, 0, 0, 0, 1, 2, 3, 4, 5},
                                           {300, 0, 0, 0, 0}}) {
    c = unigram();
    c.set_ints("precompiled_charsmap", blob);
    check_refused(c, Code::corrupt, "precompiled_charsmap");
  }
  // References beyond the array.
  c = unigram();
  c.set_ints("precompiled_charsmap", {4, 0, 0, 0, 0, 255, 255, 127, 0});
  CHECK(show(text::load_gguf_tokenizer(c)->encode("a a", {})) == "5 5 ");
}

TEST_CASE("bytes that are not UTF-8 encode and come back as U+FFFD") {
  std::vector<std::string> texts = {"\xE6\xAD",
                                    "\xFF",
                                    "\xC0\x80",
                                    "a\xED\xA0\x80z",
                                    "\xF4\x90\x80\x80",
                                    "\xF0\x9F",
                                    std::string("a\0b", 3),
                                    "\x80\x80\x80",
                                    "é\xC3"};
  for (const char* name : {"bpe-gpt2", "bpe-llama3", "bpe-o200k", "bpe-deepseek-llm", "spm-llama",
                           "spm-gemma", "unigram-t5", "wordpiece-cased"}) {
    const auto tokenizer = open_tokenizer(std::string(INGLE_TEST_DATA "/text/small/") + name + ".gguf");
    for (const std::string& text : texts) {
      const auto ids = tokenizer->encode(text, {});
      std::string bytes;
      for (const text::TokenId id : ids) bytes += tokenizer->piece(id);
      INFO(name << " " << show(ids));
      if (std::string_view(name).starts_with("bpe")) CHECK(bytes == text);
      CHECK_NOTHROW(tokenizer->decode(ids, false));
    }
  }
}

TEST_CASE("an id outside the vocabulary is named") {
  MadeCheckpoint c = made_bpe();
  const auto tokenizer = text::load_gguf_tokenizer(c);
  for (const text::TokenId id : {-1, 10, 1 << 30}) {
    try {
      tokenizer->piece(id);
      FAIL("not refused");
    } catch (const Error& e) {
      CHECK(e.code() == Code::invalid_argument);
      CHECK(std::string(e.what()).find("token id " + std::to_string(id)) != std::string::npos);
    }
    CHECK_THROWS_AS(tokenizer->decode(std::vector<text::TokenId>{0, id}, false), Error);
    CHECK_THROWS_AS(tokenizer->kind(id), Error);
    CHECK_THROWS_AS(tokenizer->token_text(id), Error);
  }
}

TEST_CASE("long texts of one character take linear work and little stack") {
  constexpr size_t kSize = 1 << 18;
  on_small_stack([] {
    for (const char* name : {"bpe-gpt2", "bpe-llama3", "bpe-deepseek-llm", "spm-llama", "spm-gemma",
                             "unigram-t5", "wordpiece-uncased"}) {
      const auto tokenizer = open_tokenizer(std::string(INGLE_TEST_DATA "/text/small/") + name + ".gguf");
      for (const char* unit : {"a", " ", "\n", "1", "\xFF", "é"}) {
        std::string text;
        while (text.size() < kSize) text += unit;
        text::Work work;
        const auto ids = tokenizer->encode_counted(text, {}, work);
        INFO(name << " '" << unit << "' scanned " << work.scanned << " merges " << work.merges);
        CHECK(work.scanned + work.merges <= 32 * kSize);
        if (name[0] != 'w' && unit[0] != ' ' && unit[0] != '\n')
          CHECK(work.scanned + work.merges >= kSize / 4);
        CHECK(tokenizer->decode(ids, false).size() <= 3 * text.size());
      }
    }
  });
}
