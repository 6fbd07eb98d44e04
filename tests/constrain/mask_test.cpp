// Masks against the plain definition: a token is offered just when its bytes go on.
#include <random>
#include <string>

#include "constrain/arguments.h"
#include "constrain/calls.h"
#include "constrain/grammar.h"
#include "ingle/error.hpp"
#include "support/catch.h"

using namespace ingle;
using namespace ingle::constrain;

namespace {

std::vector<std::string> pieces() {
  std::vector<std::string> out;
  for (int b = 0; b < 256; ++b) out.emplace_back(1, static_cast<char>(b));
  // clang-format off
  for (const char* p : {
    "", "\": \"", "\",", "\"}", "{\"", "\\n", "\\u00", "ab", "abc", "true", "alse", "12", "1.", "]}",
    "\":{\"", "  ", "\n  ", "a\"", "\":", "[\"", "\",\"", "\xC3\xA9", "\xE6\xBC", "x\xC3", "(((", "))",
    "+1", "1+", "=\"", "</", "</x>", "<x", "x>", "<x>a", "a</x>b", "aa\", \"b\": 1", "a\",\"a",
    "a\":1,\"a\":", "\",\"a\"", "a\",\"b\",", "},{", "{\"a\":\"", "\"}]", "\\\"", "\\\"a\"", "a\\nb\"",
    "          ", "            ", "\n\n\n\n\n\n\n\n", "b, ", ",ab", "\xC3\xA9/", "\xC3/", "/\xE6\xBC\xA2" "a", "\xE2\x80\xA8", "a\xE2\x80", "://ab", "/a\"", ".ab\","})
    // clang-format on
    out.emplace_back(p);
  return out;
}

// Writes at random by the masks, looking at each whether it is right.
void check_masks(const Grammar& grammar, const std::vector<std::string>& tokens, unsigned seed) {
  const auto trie = std::make_shared<const TokenTrie>(tokens);
  std::mt19937 random(seed);
  for (int round = 0; round < 3; ++round) {
    auto at = grammar.matcher(Purpose::write);
    std::string text;
    for (int step = 0; step < 40; ++step) {
      INFO("after " << text);
      const TokenMaskPtr mask = grammar.masker(trie)->mask(*at);
      std::vector<size_t> offered;
      for (size_t t = 0; t < tokens.size(); ++t) {
        const auto next = at->clone();
        const bool goes_on = !tokens[t].empty() && next->advance(tokens[t]);
        if ((*mask)[static_cast<int64_t>(t)] != goes_on) FAIL("token " << tokens[t] << " is judged wrongly");
        if (goes_on) offered.push_back(t);
      }
      const std::string forced = grammar.masker(trie)->forced(*at, 64);
      const auto after = at->clone();
      REQUIRE(after->advance(forced));
      if (!forced.empty()) {
        REQUIRE_FALSE(at->accepting());
        for (const size_t t : offered)
          REQUIRE(tokens[t].substr(0, forced.size()) == forced.substr(0, tokens[t].size()));
      }
      if (offered.empty()) {
        CHECK(at->accepting());
        break;
      }
      // Long tokens lead farther.
      size_t choice = offered[random() % offered.size()];
      for (int again = 0; again < 4 && tokens[choice].size() < 2; ++again)
        choice = offered[random() % offered.size()];
      REQUIRE(at->advance(tokens[choice]));
      text += tokens[choice];
    }
  }
}

}  // namespace

TEST_CASE("masks of schemas offer just what goes on", "[constrain]") {
  unsigned seed = 0;
  for (
      const char* schema :
      {"true", R"({"type": "object", "properties": {"a": {"type": "string"}, "ab": {"type": "integer"}}})",
       R"({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}, "required": ["a"],
            "additionalProperties": false})",
       R"({"type": "array", "items": {"type": "string", "minLength": 2}})",
       R"({"type": "string", "maxLength": 300})", R"({"type": "string", "pattern": "^a[^x]*b$"})",
       R"({"enum": ["ab", "abc", 12, true, null]})", R"({"type": "number", "minimum": 1})",
       R"({"$schema": "http://json-schema.org/draft-04/schema#", "items": {"type": "integer"}})",
       R"({"$schema": "http://json-schema.org/draft-04/schema#", "items": {"not": {"type": "integer"}}})",
       R"({"type": "array", "uniqueItems": true, "items": {"enum": ["a", "ab", "b"]}})",
       R"({"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "string"}})",
       R"({"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"a": {"type": "string"}}}})",
       R"({"type": "array", "uniqueItems": true, "items": {"type": "array", "uniqueItems": true, "items": {}}})",
       R"({"type": "array", "uniqueItems": true, "items": {"type": "string", "pattern": "^a*b?$"}})",
       R"({"type": "object", "propertyNames": {"pattern": "^[a-c]$"}})",
       R"({"type": "object", "propertyNames": {"pattern": "^[ab]{1,2}$"}})",
       R"({"type": "object", "patternProperties": {"^a": {"type": "integer"}, "^b": false}})",
       R"({"type": "object", "properties": {"a": {"oneOf": [{"type": "string", "minLength": 2}, {"type": "number"},
            {"type": "object", "properties": {"b": {"const": "x"}}, "required": ["b"]},
            {"type": "object", "properties": {"b": {"const": "ab"}}, "required": ["b"]}]}}})",
       R"({"type": "string", "pattern": "^[a-z ]+(,[a-z ]+)*$"})",
       R"({"type": "string", "pattern": "^[^/x]*$", "maxLength": 7})",
       R"({"type": "string", "pattern": "^.+$"})",
       // Lengths that are counted beside the states.
       R"({"type": "string", "pattern": "^(?:\\S+\\s+){0,99}\\S+$", "minLength": 3, "maxLength": 30})",
       R"({"items": {"type": "string", "pattern": "^(?:\\S+\\s+){0,99}\"\\\\end$", "maxLength": 24}})",
       R"({"type": "string", "pattern": "^https?://.*\\.ab.*$"})", R"({"type": "string", "pattern": "a|bc"})",
       R"x({"type": "object", "patternProperties": {"ab([a-z]+)": {"type": "integer"}, "x": {"type": "string"}}})x",
       R"x({"type": "object", "patternProperties": {"^(/[^/]+)+$": {"type": "integer"}}, "additionalProperties": false})x",
       R"({"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "array", "items": {"type": "boolean"}}]})",
       R"({"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "null"}}})"}) {
    INFO(schema);
    check_masks(*schema_grammar(schema, {}, "schema"), pieces(), ++seed);
  }
}

TEST_CASE("masks of grammars offer just what goes on", "[constrain]") {
  unsigned seed = 100;
  for (const char* source :
       {R"x(root ::= "(" root ")" | "a"* | root "+" root | [0-9]+)x",
        R"x(root ::= value
            value ::= object | string | [0-9]+ | "true" | "false"
            object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
            string ::= "\"" ([^"\\\x00-\x1f] | "\\" ([nt"] | "u" [0-9a-f]{4}))* "\"" ws
            ws ::= [ \n]*)x",
        "root ::= root \"a\" | root \"b\" | \"a\"", R"x(root ::= ("ab" | "a" "b" | "abc")* "1"{2,3})x",
        "root ::= .*", "root ::= [^a]{2,5} \"abc\" root?"}) {
    INFO(source);
    check_masks(*gbnf_grammar(source, "grammar"), pieces(), ++seed);
  }
}

TEST_CASE("masks of choices, patterns and tags offer just what goes on", "[constrain]") {
  const std::vector<std::string> texts{"ab", "abc", "12", "true", ""};
  check_masks(*choice_grammar(texts, "choice"), pieces(), 200);
  check_masks(*regex_grammar("(?:ab?|[0-9]+\\+)*", "regex"), pieces(), 201);
  std::vector<Tag> tags;
  tags.push_back({"<x>", schema_grammar(R"({"type": "string"})", {}, "schema"), "</x>"});
  tags.push_back({"<x=\"", gbnf_grammar("root ::= [a-c]+", "grammar"), "\">"});
  check_masks(*tags_grammar(tags, {{"<x"}}, "tags"), pieces(), 202);
  check_masks(*tags_grammar(tags, {}, "tags"), pieces(), 203);
  check_masks(*tags_grammar(tags, {{}, true, true}, "tags"), pieces(), 204);
}

namespace {

// <a=…> text, <b=…> JSON, <c=…> one of a few texts.
WrittenArguments written(const char* end) {
  const auto schema = [](const char* text) { return schema_grammar(text, {}, "schema"); };
  WrittenArguments all;
  all.arguments = {{"<a=", ",<a=", schema(R"({"type": "string"})"), true, end, true},
                   {"<b=", ",<b=", schema(R"({"type": ["integer", "array"], "items": {"type": "string"}})"),
                    false, end, false},
                   {"<c=", ",<c=", schema(R"({"enum": ["a\"b\\", "a", "ab</x"]})"), true, end, false}};
  return all;
}

bool accepts(const Grammar& grammar, std::string_view text) {
  const auto at = grammar.matcher(Purpose::write);
  return at->advance(text) && at->accepting();
}

}  // namespace

TEST_CASE("arguments that are written one by one come once each, in any order", "[constrain]") {
  WrittenArguments all = written("\n</x>");
  all.marker = "</x>";
  const GrammarPtr grammar = arguments_grammar(all, "arguments");
  for (const char* good : {"<a=\n</x>", "<a=x\n\"\\y</x\n</x>", "<b=12\n</x>,<a=\xC3\xA9\n</x>",
                           "<a=1\n</x>,<c=a\"b\\\n</x>,<b=[\"x\"]\n</x>", "<c=ab</x\n</x>,<a=\n\n</x>"})
    CHECK(accepts(*grammar, good));
  for (const char* bad : {"", "<b=1\n</x>", ",<a=\n</x>", "<a=</x>", "<a=x</x>\n</x>", "<a=\n</x>,<a=\n</x>",
                          "<a=\n</x><b=1\n</x>", "<a=\n</x>,<b=\"1\"\n</x>", "<a=\xC3\n</x>", "<a=\n</x>,",
                          "<a=\n</x>,<b=[\"</x>\"]\n</x>", "<a=\n</x>,<c=\"a\"\n</x>"})
    CHECK_FALSE(accepts(*grammar, bad));
  check_masks(*grammar, pieces(), 400);
  WrittenArguments plain;  // as Python writes them
  plain.arguments = {
      {"a=", ", a=", schema_grammar(R"({"type": ["string", "integer"]})", {}, "s"), false, "", true},
      {"b=", ", b=", schema_grammar(R"({"type": "number"})", {}, "s"), false, "", true}};
  CHECK(accepts(*arguments_grammar(plain, "arguments"), R"(a="x\/", b=1.5)"));
  plain.no_slash_escape = true;
  const GrammarPtr python = arguments_grammar(plain, "arguments");
  CHECK(accepts(*python, R"(b=1, a="x/\\\n/")"));
  CHECK_FALSE(accepts(*python, R"(a="x\/", b=1)"));
  CHECK_FALSE(accepts(*python, R"(a="x")"));
  check_masks(*python, pieces(), 401);
  all.marker = "<x<";  // its end begins another
  CHECK_THROWS_AS(arguments_grammar(all, "arguments"), Error);
  all = {};
  CHECK(accepts(*arguments_grammar(all, "arguments"), ""));
  all.arguments.resize(65);
  CHECK_THROWS_AS(arguments_grammar(all, "arguments"), Error);
}

TEST_CASE("masks of calls offer just what goes on", "[constrain]") {
  std::vector<std::string> tokens = pieces();
  for (int id = 0; id < 3; ++id) tokens.push_back(control_spelling(id));
  tokens[0xFF].clear();
  const auto schema = [](const char* text) { return schema_grammar(text, {}, "schema"); };
  const auto calls = [&](const std::string& begin) {
    std::vector<Call> out;
    out.push_back(
        {begin + "ab{", schema(R"({"type": "object", "properties": {"a": {"type": "integer"}}})"), "}"});
    out.push_back({begin + "abc", schema(R"({"type": "array", "items": {"type": "string"}})"), "</x>"});
    return out;
  };
  const std::string mark = control_spelling(1);
  CallsOptions options;
  check_masks(*calls_grammar(calls("<x>"), options, "calls"), tokens, 300);
  options.separator = "\n";
  options.foot = mark;
  options.trigger = "<x>";
  check_masks(*calls_grammar(calls("<x>"), options, "calls"), tokens, 301);
  options.trigger = options.head = mark;
  check_masks(*calls_grammar(calls(""), options, "calls"), tokens, 302);
  options.many = false;
  check_masks(*calls_grammar(calls(control_spelling(2)), options, "calls"), tokens, 303);
  options.not_in_free = "<x>";
  CHECK(accepts(*calls_grammar(calls(control_spelling(2)), options, "calls"), "so <x"));
  CHECK_FALSE(accepts(*calls_grammar(calls(control_spelling(2)), options, "calls"), "so <x>"));
  check_masks(*calls_grammar(calls(control_spelling(2)), options, "calls"), tokens, 308);
  options.not_in_free.clear();
  options.never = true;
  check_masks(*calls_grammar({}, options, "calls"), tokens, 304);
  options.never = false;
  options.trigger = "(";
  CHECK_THROWS_AS(calls_grammar(calls(""), options, "calls"), Error);

  // Where a call may begin the answer without its trigger.
  options = {};
  options.trigger = "<x>";
  options.at_start = true;
  options.not_free = "a";
  const GrammarPtr bare = calls_grammar(calls("<x>"), options, "calls");
  CHECK(accepts(*bare, R"(ab{{"a": 1}})"));
  CHECK(accepts(*bare, R"(so <x>ab{{"a": 1}})"));
  CHECK_FALSE(accepts(*bare, "another"));
  check_masks(*bare, tokens, 305);
  options.not_free.clear();
  options.free_begin = "all\n";
  const GrammarPtr opened = calls_grammar(calls("<x>"), options, "calls");
  CHECK(accepts(*opened, "all\nso"));
  CHECK(accepts(*opened, R"(abc["a"]</x>)"));
  CHECK_FALSE(accepts(*opened, "so"));
  check_masks(*opened, tokens, 306);
  options.never = true;
  CHECK_FALSE(accepts(*calls_grammar(calls("<x>"), options, "calls"), R"(abc["a"]</x>)"));
  options.never = false;
  options.must = true;
  CHECK(accepts(*calls_grammar(calls("<x>"), options, "calls"), R"(abc["a"]</x>)"));
  CHECK_FALSE(accepts(*calls_grammar(calls("<x>"), options, "calls"), "all\nso"));
  options = {};
  options.trigger = "<x>";
  options.at_start = options.only_start = true;
  options.head = "[";
  options.foot = "]";
  options.not_free = "[";
  const GrammarPtr start = calls_grammar(calls(""), options, "calls");
  CHECK(accepts(*start, R"([abc["a"]</x>])"));
  CHECK(accepts(*start, "so [a]"));
  CHECK_FALSE(accepts(*start, "[a]"));
  CHECK_FALSE(accepts(*start, "so <x>"));
  check_masks(*start, tokens, 307);
}
