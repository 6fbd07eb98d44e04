// Added tokens, special ids, decoding and streaming, on vocabularies small enough to check by eye.
#include "core/error.h"
#include "made_vocab.h"
#include "vocabs.h"

using namespace ingle;
using namespace ingle::tests;
using text::TokenId;
using text::TokenKind;

namespace {

std::shared_ptr<const text::Tokenizer> load(const MadeCheckpoint& c) { return text::load_gguf_tokenizer(c); }

std::string streamed(const text::Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool skip) {
  text::Detokenizer stream(tokenizer, skip);
  std::string out;
  for (const TokenId id : ids) {
    const std::string part = stream.push(id);
    // Whole characters only: what is broken is U+FFFD already.
    const char* end = part.data() + part.size();
    for (const char* at = part.data(); at < end;) {
      const text::CodePoint c = text::decode_utf8(at, end);
      CHECK(c.valid);
      at += c.bytes;
    }
    out += part;
  }
  return out + stream.finish();
}

}  // namespace

TEST_CASE("merges run by rank, the leftmost first") {
  const auto t = load(made_bpe());
  CHECK(show(t->encode("ab", {})) == "4 ");
  CHECK(show(t->encode("aba", {})) == "6 ");
  CHECK(show(t->encode("abab", {})) == "4 4 ");  // both "a b" come before "ab a"
  CHECK(show(t->encode("a ab", {})) == "0 5 ");
  CHECK(show(t->encode("aac", {})) == "0 0 7 ");  // no byte "c": the unknown token
  CHECK(t->encode("", {}).empty());
}

TEST_CASE("the last of two tokens that are spelt alike counts") {
  MadeCheckpoint c = made_bpe();
  c.add("ab");
  c.store_tokens();
  CHECK(show(load(c)->encode("ab", {})) == "10 ");
}

TEST_CASE("a piece that is a token is taken whole where the family does so") {
  MadeCheckpoint c = made_bpe();
  c.add("bb");
  c.store_tokens();
  CHECK(show(load(c)->encode("bb", {})) == "1 1 ");
  c.set("pre", "llama-bpe");
  c.set_bool("add_bos_token", false);
  CHECK(show(load(c)->encode("bb", {})) == "10 ");
}

TEST_CASE("user-defined tokens are found always, control tokens on demand") {
  const auto t = load(made_bpe());
  CHECK(show(t->encode("a<tool>b", {})) == "0 8 1 ");
  CHECK(show(t->encode("<tool>xa", {})) == "9 0 ");  // the longest
  CHECK(show(t->encode("<tool><tool>x", {})) == "8 9 ");
  CHECK(show(t->encode("a<|endoftext|>b", {.parse_special = true})) == "0 7 1 ");
  const auto plain = t->encode("ab<|endoftext|>ab", {});
  CHECK(plain.size() == 15);  // thirteen unknown bytes between the two "ab"
}

TEST_CASE("white space beside an added token goes where the family is known to strip it") {
  MadeCheckpoint c = made_bpe();
  c.values["general.name"] = formats::MetaValue(std::string("Phi-3 mini"));
  CHECK(show(load(c)->encode("a <tool>\n b", {})) == "0 2 8 1 ");
  CHECK(show(load(c)->encode("<|endoftext|>\nb", {.parse_special = true})) == "7 3 1 ");
  c.values["general.name"] = formats::MetaValue(std::string("other"));
  CHECK(show(load(c)->encode("<tool>\nb", {})) == "8 3 1 ");
}

TEST_CASE("BOS and EOS are added as the file says") {
  MadeCheckpoint c = made_spm();
  const auto t = load(c);
  CHECK(t->special().add_bos);
  CHECK(show(t->encode("hi", {.add_special = true})) == "1 264 ");
  CHECK(show(t->encode("", {.add_special = true})) == "1 ");
  c.set_bool("add_eos_token", true);
  c.set_bool("add_bos_token", false);
  CHECK(show(load(c)->encode("hi", {.add_special = true})) == "264 2 ");
  CHECK(show(load(c)->encode("hi", {})) == "264 ");
}

TEST_CASE("the dummy prefix, byte tokens and their way back") {
  const auto t = load(made_spm());
  CHECK(t->strips_leading_space());
  CHECK(show(t->encode("hi é", {})) == "264 259 198 172 ");
  CHECK(show(t->encode("hi<s>hi", {.parse_special = true})) == "264 1 264 ");
  CHECK(t->decode(t->encode("hi é", {}), false) == "hi é");
  CHECK(t->decode(t->encode(" hi", {}), false) == " hi");
  CHECK(t->piece(198) == "\xC3");
  CHECK(t->kind(198) == TokenKind::byte);
  CHECK(t->piece(264) == " hi");
  CHECK(t->token_text(264) == "▁hi");
  CHECK(t->decode(std::vector<TokenId>{1, 264}, true) == "hi");
  CHECK(t->decode(std::vector<TokenId>{1, 264}, false) == "<s> hi");
  MadeCheckpoint bare = made_spm();
  bare.set_bool("add_space_prefix", false);
  CHECK(show(load(bare)->encode("hi", {})) == "263 ");
  CHECK(load(bare)->decode(std::vector<TokenId>{264}, false) == " hi");
}

TEST_CASE("generation ends at the tokens that the file or their names say") {
  MadeCheckpoint c = made_bpe();
  CHECK(load(c)->special().end_of_generation == std::vector<TokenId>{7});
  const auto end = c.add("<|im_end|>", 1);
  const auto message = c.add("<|eom_id|>", 3);
  c.store_tokens();
  const auto t = load(c);
  CHECK(t->special().end_of_generation ==
        std::vector<TokenId>{7, static_cast<TokenId>(end), static_cast<TokenId>(message)});
  CHECK(t->special().eot == end);
  CHECK(t->special().eom == message);
  CHECK(t->kind(static_cast<TokenId>(end)) == TokenKind::control);  // whatever the file says
  // A message's end is not the answer's where the dialect has both.
  for (const char* name : {"<|end|>", "<|return|>", "<|call|>"}) c.add(name, 3);
  c.store_tokens();
  CHECK(load(c)->special().end_of_generation.size() == 5);
  // An ordinary "</s>" is HTML.
  c.add("</s>", 1);
  c.store_tokens();
  CHECK(load(c)->special().end_of_generation.size() == 5);
}

TEST_CASE("a stream gives the text of the whole, in whole characters") {
  for (const char* name :
       {"bpe-gpt2", "bpe-qwen2", "spm-llama", "spm-gemma", "unigram-xlmr", "wordpiece-uncased"}) {
    const auto t = open_tokenizer(std::string(INGLE_TEST_DATA "/text/small/") + name + ".gguf");
    for (const char* text :
         {"Hello 👩‍🚀 wörld", " two  spaces", "مرحبا", "\xE6\xAD x \xF0\x9F", "e\u0301\n\n"}) {
      const auto ids = t->encode(text, {.add_special = true});
      INFO(name << " '" << text << "'");
      CHECK(streamed(*t, ids, false) == t->decode(ids, false));
      CHECK(streamed(*t, ids, true) == t->decode(ids, true));
    }
    // Any ids at all, and each broken character once.
    std::vector<TokenId> ids;
    for (TokenId id = 0; id < t->size(); ++id) ids.push_back(static_cast<TokenId>((id * 7919LL) % t->size()));
    CHECK(streamed(*t, ids, false) == t->decode(ids, false));
  }
  const auto t = load(made_spm());
  CHECK(t->decode(std::vector<TokenId>{3 + 0xF0, 3 + 0x9F, 262}, false) == "\uFFFD h");
  CHECK(t->decode(std::vector<TokenId>{3 + 0xF0, 3 + 0x9F}, false) == "\uFFFD");
  CHECK(t->decode(std::vector<TokenId>{3 + 0xFF, 3 + 0x80}, false) == "\uFFFD\uFFFD");
}

TEST_CASE("a stream holds a character back until it is whole") {
  const auto t = load(made_spm());
  text::Detokenizer stream(*t, false);
  CHECK(stream.push(3 + 0xF0).empty());
  CHECK(stream.push(3 + 0x9F).empty());
  CHECK(stream.push(3 + 0x98).empty());
  CHECK(stream.push(3 + 0x80) == "😀");
  CHECK(stream.push(264) == " hi");
  CHECK(stream.finish().empty());
}

TEST_CASE("Gemma 4's way: merges on UTF-8 with marks for spaces") {
  MadeCheckpoint c;
  c.set("model", "gemma4");
  c.add("<bos>", 3);
  for (const char* t : {"a", "b", "▁", "\n", "ab", "▁ab", "\n\n", "<0xC3>", "<0xA9>"}) c.add(t);
  c.store_tokens();
  c.set_strings("merges", {"a b", "▁ ab"});
  c.set_id("bos_token_id", 0);
  const auto t = load(c);
  CHECK(show(t->encode("ab ab\n\né", {.add_special = true})) == "0 5 6 7 8 9 ");
  CHECK(t->decode(t->encode("ab ab\n\né", {}), false) == "ab ab\n\né");
  CHECK_FALSE(t->strips_leading_space());
}

TEST_CASE("added tokens are found leftmost and longest in linear time") {
  const text::AddedTokens found({{"aa", 1}, {"aaab", 2}, {"b", 3}, {"ab", 4}});
  std::vector<text::AddedTokens::Match> m;
  const auto ids = [&](std::string_view text) {
    found.find(text, m);
    std::string out;
    for (const auto& x : m) out += std::to_string(x.id) + "@" + std::to_string(x.begin) + " ";
    return out;
  };
  CHECK(ids("aaab") == "2@0 ");
  CHECK(ids("aaaab") == "1@0 1@2 3@4 ");
  CHECK(ids("xab-b") == "4@1 3@4 ");
  CHECK(ids("") == "");
}
