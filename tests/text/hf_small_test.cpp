// Small tokenizer.json documents: what each component does, and how a broken one is refused.
#include "hf_folder.h"
#include "text/hf/pattern.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

// A word-level vocabulary, so that the ids show the pieces.
std::string words(const std::string& components, const std::string& vocabulary) {
  return "{" + components + R"("model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0)" +
         (vocabulary.empty() ? "" : ",") + vocabulary + "}}}";
}
std::string pre(const std::string& value) { return R"("pre_tokenizer":)" + value + ","; }
std::string normal(const std::string& value) { return R"("normalizer":)" + value + ","; }

std::vector<text::TokenId> encode(const std::string& json, const std::string& text) {
  return text::load_tokenizer_json(json, "made.json")->encode(text, {.parse_special = true});
}

void check_refused(const std::string& json, Code code, const std::string& part) {
  INFO(json);
  try {
    text::load_tokenizer_json(json, "made.json");
    FAIL("not refused");
  } catch (const Error& e) {
    INFO(e.what());
    CHECK(e.code() == code);
    CHECK(std::string(e.what()).find(part) != std::string::npos);
    CHECK(e.where() == "made.json");
  }
}

}  // namespace

TEST_CASE("Split has five behaviours") {
  const auto split = [](const char* behaviour, const char* invert) {
    return pre(std::string(R"({"type":"Split","pattern":{"String":"-"},"behavior":")") + behaviour +
               R"(","invert":)" + invert + "}");
  };
  const std::string v = R"("-":1,"a":2,"b":3,"a-":4,"-b":5,"--":6,"-a":7)";
  const std::string text = "a--b-a";
  CHECK(show(encode(words(split("Removed", "false"), v), text)) == "2 3 2 ");
  CHECK(show(encode(words(split("Isolated", "false"), v), text)) == "2 1 1 3 1 2 ");
  CHECK(show(encode(words(split("MergedWithPrevious", "false"), v), text)) == "4 1 0 2 ");
  CHECK(show(encode(words(split("MergedWithNext", "false"), v), text)) == "2 1 5 7 ");
  CHECK(show(encode(words(split("Contiguous", "false"), v), text)) == "2 6 3 1 2 ");
  CHECK(show(encode(words(split("Removed", "true"), v), text)) == "1 1 1 ");
}

TEST_CASE("pre-tokenizers cut, drop and rewrite") {
  const std::string v =
      R"("a":1,"b":2,"12":3,"1":4,"2":5,"!":6,"!?":7,"▁a":8,"▁b":9,"a!":10,"ab":11,"中":12,"か":13,"中か":14)";
  const auto run = [&](const char* component, const char* text) {
    return show(encode(words(pre(component), v), text));
  };
  CHECK(run(R"({"type":"Whitespace"})", "a!? b\n12") == "1 7 2 3 ");
  CHECK(run(R"({"type":"WhitespaceSplit"})", " a!\tb ") == "10 2 ");
  CHECK(run(R"({"type":"BertPreTokenizer"})", "a! b") == "1 6 2 ");
  CHECK(run(R"({"type":"Punctuation"})", "a!") == "1 6 ");
  CHECK(run(R"({"type":"Punctuation","behavior":"Contiguous"})", "a!?") == "1 7 ");
  CHECK(run(R"({"type":"Digits","individual_digits":true})", "a12") == "1 4 5 ");
  CHECK(run(R"({"type":"Digits","individual_digits":false})", "a12b") == "1 3 2 ");
  CHECK(run(R"({"type":"CharDelimiterSplit","delimiter":"!"})", "a!b!!a") == "1 2 1 ");
  CHECK(run(R"({"type":"FixedLength","length":2})", "ab12a") == "11 3 1 ");
  CHECK(run(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true})", "a b") ==
        "8 9 ");
  CHECK(run(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true})", "a b") ==
        "1 9 ");
  CHECK(run(R"({"type":"Metaspace","add_prefix_space":false})", "a b") == "1 9 ");
  CHECK(run(R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Punctuation"}]})",
            "a! b") == "1 6 2 ");
  CHECK(run(R"({"type":"UnicodeScripts"})", "ab中か") == "11 14 ");
  CHECK(run(R"({"type":"UnicodeScripts"})", "a b") == "0 ");
}

TEST_CASE("normalisers rewrite") {
  const auto run = [](const char* component, const char* text, const std::string& want) {
    INFO(component);
    const std::string json = words(normal(component), "\"" + want + "\":1");
    CHECK(show(encode(json, text)) == "1 ");
  };
  run(R"({"type":"NFC"})", "e\u0301", "é");
  run(R"({"type":"NFD"})", "é", "e\u0301");
  run(R"({"type":"NFKC"})", "ﬁ①e\u0301", "fi1é");
  run(R"({"type":"NFKD"})", "ﬁé", "fie\u0301");
  run(R"({"type":"Lowercase"})", "AÉÀ", "aéà");
  run(R"({"type":"Lowercase"})", "İ", "i\u0307");
  run(R"({"type":"Strip","strip_left":true,"strip_right":true})", " \t a b\u3000", "a b");
  run(R"({"type":"Strip","strip_left":false,"strip_right":true})", " a ", " a");
  run(R"({"type":"StripAccents"})", "e\u0301", "e");
  run(R"({"type":"Replace","pattern":{"String":"ab"},"content":"c"})", "abaab", "cac");
  run(R"x({"type":"Replace","pattern":{"Regex":"a+(?=b)"},"content":"-"})x", "aab a", "-b a");
  run(R"({"type":"Prepend","prepend":"x"})", "a", "xa");
  run(R"({"type":"Nmt"})", "a\u200Bb\u0001", "a b");
  run(R"({"type":"ByteLevel"})", "é ", "Ã©Ġ");
  run(R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})",
      "É中\u0007\t", "e 中  ");
  run(R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"}]})",
      "ÉÅ", "ea");
}

TEST_CASE("added tokens keep to their flags") {
  const auto added = [](const std::string& flags) {
    return R"("added_tokens":[{"id":9,"content":"<x>",)" + flags +
           R"(}],"pre_tokenizer":{"type":"Split","pattern":)" +
           R"({"Regex":"[a-z ]"},"behavior":"Isolated","invert":false},)";
  };
  const std::string v = R"("a":1," ":2,"<":3,"x":4,">":5)";
  const auto run = [&](const std::string& flags, const char* text) {
    return show(encode(words(added(flags), v), text));
  };
  CHECK(run(R"("special":true)", "a <x> a") == "1 2 9 2 1 ");
  CHECK(run(R"("special":true,"lstrip":true)", "a <x> a") == "1 9 2 1 ");
  CHECK(run(R"("special":true,"rstrip":true)", "a <x> a") == "1 2 9 1 ");
  CHECK(run(R"("special":true,"rstrip":true,"lstrip":true)", "<x> <x>\n<x>") == "9 9 9 ");
  CHECK(run(R"("special":false,"single_word":true)", "a<x>") == "1 3 4 5 ");
  CHECK(run(R"("special":false,"single_word":true)", "a <x>") == "1 2 9 ");
  // Special ones are found only when asked for.
  const auto tokenizer = text::load_tokenizer_json(words(added(R"("special":true)"), v), "made.json");
  CHECK(show(tokenizer->encode("a<x>", {})) == "1 3 4 5 ");
  CHECK(tokenizer->kind(9) == text::TokenKind::control);
  CHECK(tokenizer->size() == 10);
}

TEST_CASE("byte-pair models keep to their options") {
  const auto bpe = [](const std::string& options, const std::string& vocabulary, const std::string& merges) {
    return R"({"model":{"type":"BPE",)" + options + R"("vocab":{)" + vocabulary + R"(},"merges":[)" + merges +
           "]}}";
  };
  const std::string v = R"("a":0,"b":1,"ab":2,"?":3)";
  CHECK(show(encode(bpe("", v, R"("a b")"), "abb")) == "2 1 ");
  CHECK(show(encode(bpe("", v, R"(["a","b"])"), "cabc")) == "2 ");  // nothing stands for c
  CHECK(show(encode(bpe(R"("unk_token":"?",)", v, R"("a b")"), "ccab")) == "3 3 2 ");
  CHECK(show(encode(bpe(R"("unk_token":"?","fuse_unk":true,)", v, R"("a b")"), "ccab")) == "3 2 ");
  CHECK(show(encode(bpe(R"("byte_fallback":true,)", R"("a":0,"<0xC3>":1,"<0xA9>":2)", ""), "aé")) ==
        "0 1 2 ");
  CHECK(show(encode(bpe(R"("ignore_merges":true,)", v, ""), "ab")) == "2 ");
  CHECK(show(encode(bpe(R"("end_of_word_suffix":"_",)", R"("a":0,"b_":1,"ab_":2)", R"("a b_")"), "ab")) ==
        "2 ");
  CHECK(show(encode(bpe(R"("continuing_subword_prefix":"##",)", R"("a":0,"##b":1,"ab":2)", R"("a ##b")"),
                    "ab")) == "2 ");
}

TEST_CASE("decoders") {
  const auto decode = [](const std::string& component, const std::string& vocabulary,
                         const std::vector<text::TokenId>& ids) {
    const std::string json = words(R"("decoder":)" + component + ",", vocabulary);
    return text::load_tokenizer_json(json, "made.json")->decode(ids, false);
  };
  CHECK(decode("null", R"("a":1,"b":2)", {1, 2}) == "a b");
  CHECK(decode(R"({"type":"Fuse"})", R"("a":1,"b":2)", {1, 2}) == "ab");
  CHECK(decode(R"({"type":"ByteLevel"})", R"("Ã":1,"©":2)", {1, 2, 1}) == "é\uFFFD");
  CHECK(decode(R"({"type":"ByteFallback"})", R"("<0xC3>":1,"<0xA9>":2,"a":3)", {1, 2, 3, 1, 3}) ==
        "éa\uFFFDa");
  CHECK(decode(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})", R"("▁a":1)", {1, 1}) ==
        "a a");
  CHECK(decode(R"({"type":"WordPiece","prefix":"##","cleanup":true})", R"("a":1,"##b":2,".":3)", {1, 2, 3}) ==
        "ab.");
  CHECK(decode(R"({"type":"BPEDecoder","suffix":"_"})", R"("a_":1,"b":2)", {1, 2, 1}) == "a ba");
  CHECK(decode(R"({"type":"CTC","pad_token":"-","word_delimiter_token":"|","cleanup":true})",
               R"("a":1,"-":2,"|":3)", {1, 1, 2, 1, 3, 1}) == "aa a");
  CHECK(
      decode(
          R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":1}]})",
          R"("  a ":1)", {1, 1}) == " a   a");
  CHECK(decode(R"({"type":"Replace","pattern":{"Regex":"a+"},"content":"b"})", R"("aa":1)", {1, 1}) == "bb");
}

TEST_CASE("a unigram model's unknown token may be its first") {
  CHECK(show(encode(R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],["aa",-1.5]]}})",
                    "aaab")) == "1 2 0 ");
}

TEST_CASE("scanners cut where the expression that they stand for does") {
  const std::string clip =
      R"(<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";
  const std::string deepseek =
      R"([!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
      " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";
  const text::hf::Node nowhere(nullptr, "made.json", "pattern");
  const auto cuts = [](const text::hf::Pattern& pattern, std::string_view text) {
    text::Work work;
    std::vector<text::TokenId> ends;
    const auto search = pattern.search(text, 0, text.size(), work);
    for (text::Cut m = search->next(0); m.begin != std::string::npos; m = search->next(m.end)) {
      for (const size_t at : {m.begin, m.end})
        if (ends.empty() || ends.back() != static_cast<text::TokenId>(at))
          ends.push_back(static_cast<text::TokenId>(at));
    }
    return show(ends);
  };
  for (const std::string& expression : {clip, deepseek}) {
    const text::Stage* known = text::hf::find_known_pattern(expression);
    REQUIRE(known);
    const auto scanner = text::hf::make_stage_pattern(*known);
    const auto regex = text::hf::make_regex_pattern(expression, nowhere);
    for (const char* text :
         {"it's <|endoftext|>!'ll <|endoftext 'LL l'l", "don't  \n x", "<<|startoftext|>>'s",
          "e\u0301 中文, (a) .b\r\n \n  c!!\n", "'", "", "  ", "x'", "'re'r", "\"quoted\" \\n"}) {
      INFO(expression << " of '" << text << "'");
      CHECK(cuts(*scanner, text) == cuts(*regex, text));
    }
  }
  const auto scanner = text::hf::make_stage_pattern(*text::hf::find_known_pattern(clip));
  CHECK(cuts(*scanner, "12½ a3") == cuts(*text::hf::make_regex_pattern(clip, nowhere), "12½ a3"));
}

TEST_CASE("a broken tokenizer.json is refused by the path of what is wrong") {
  const std::string v = R"("a":1)";
  check_refused("", Code::corrupt, "not JSON");
  check_refused("[]", Code::corrupt, "expected an object");
  check_refused("{}", Code::corrupt, "model is missing");
  check_refused(std::string(100000, '['), Code::corrupt, "deep");
  check_refused(R"({"model":{"type":"BPE","vocab":{},"merges":[]}})", Code::corrupt, "model.vocab");
  check_refused(R"({"model":{"type":"Char","vocab":{"a":0}}})", Code::unsupported, "model.type is 'Char'");
  check_refused(R"({"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}})", Code::corrupt,
                "'a' has the id -1");
  check_refused(R"({"model":{"type":"BPE","vocab":{"a":99999999},"merges":[]}})", Code::corrupt, "99999999");
  check_refused(R"({"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}})", Code::corrupt,
                "the id of 'a'");
  check_refused(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}})", Code::corrupt,
                "model.merges[0]");
  check_refused(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a a"]}})", Code::corrupt,
                "result is no token");
  check_refused(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[["a"]]}})", Code::corrupt,
                "model.merges[0]");
  check_refused(R"({"model":{"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]}})", Code::unsupported,
                "model.dropout");
  check_refused(R"({"model":{"type":"BPE","unk_token":"x","vocab":{"a":0},"merges":[]}})", Code::corrupt,
                "model.unk_token is 'x'");
  check_refused(R"({"model":{"type":"Unigram","unk_id":7,"vocab":[["a",-1.0]]}})", Code::corrupt,
                "model.unk_id is 7");
  check_refused(R"({"model":{"type":"Unigram","vocab":[["a",-1.0]]}})", Code::corrupt,
                "model.unk_id is missing");
  check_refused(R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["a"]]}})", Code::corrupt,
                "model.vocab, entry 0");
  check_refused(words(normal(R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Odd"}]})"), v),
                Code::unsupported, "normalizer.normalizers[1].type is 'Odd'");
  check_refused(words(pre(R"({"type":"Sequence","pretokenizers":[{"type":"Odd"}]})"), v), Code::unsupported,
                "pre_tokenizer.pretokenizers[0].type is 'Odd'");
  check_refused(words(pre(R"({"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"})"), v),
                Code::unsupported, "pre_tokenizer.pattern.Regex is '('");
  check_refused(words(pre(R"({"type":"Split","pattern":{"String":"a"},"behavior":"Odd"})"), v),
                Code::unsupported, "pre_tokenizer.behavior is 'Odd'");
  check_refused(words(pre(R"({"type":"Split","pattern":{"Regex":"[a&&b]"},"behavior":"Isolated"})"), v),
                Code::unsupported, "'&&'");
  check_refused(words(R"("post_processor":{"type":"Odd"},)", v), Code::unsupported,
                "post_processor.type is 'Odd'");
  check_refused(words(R"("post_processor":{"type":"BertProcessing","sep":["a",77],"cls":["a",1]},)", v),
                Code::corrupt, "post_processor.sep[1] is 77");
  check_refused(words(R"("decoder":{"type":"Odd"},)", v), Code::unsupported, "decoder.type is 'Odd'");
  check_refused(words(R"("added_tokens":[{"content":"x"}],)", v), Code::corrupt,
                "added_tokens[0].id is missing");
  check_refused(words(R"("added_tokens":[{"id":1e9,"content":"x"}],)", v), Code::corrupt,
                "added_tokens[0].id");
}

TEST_CASE("a published expression is scanned, any other is compiled") {
  const auto stage = [](const char* expression) {
    Json json;
    json.kind = Json::Kind::object;
    json.members.emplace_back("Regex", Json::of_string(expression));
    return text::hf::read_pattern({&json, "made.json", "pattern"})->stage() != nullptr;
  };
  CHECK(stage("\\p{N}{1,3}"));
  CHECK(stage("\\s?[A-Za-zµÀ-Ö]+"));
  CHECK(
      stage("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
            "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"));
  CHECK_FALSE(stage("a|b"));
  CHECK_FALSE(stage("[a-c]{2}"));
}
