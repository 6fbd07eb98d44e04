// Choices, free text with tags, grammars that begin at a marker, and Lark's notation.
#include "constrain/grammar.h"
#include "ingle/error.hpp"
#include "support/catch.h"

using namespace ingle;
using namespace ingle::constrain;

namespace {

bool accepts(const Grammar& grammar, std::string_view text) {
  const auto matcher = grammar.matcher(Purpose::judge);
  return matcher->advance(text) && matcher->accepting();
}

template <class F>
std::string refusal(F f, Code code = Code::invalid_argument) {
  try {
    f();
  } catch (const Error& e) {
    INFO(e.what());
    CHECK(e.code() == code);
    return e.message();
  }
  return {};
}

GrammarPtr schema(const char* text) { return schema_grammar(text, {}, "schema"); }

}  // namespace

TEST_CASE("a choice is just its texts", "[constrain]") {
  const GrammarPtr g = choice_grammar(std::vector<std::string>{"red", "redder", "g\xC3\xBCn", ""}, "choice");
  for (const char* text : {"red", "redder", "g\xC3\xBCn", ""}) CHECK(accepts(*g, text));
  for (const char* text : {"re", "reddest", "redd", "gun", "r", "redred"}) CHECK_FALSE(accepts(*g, text));
  CHECK(refusal([] { choice_grammar({}, "choice"); }) == "no texts to choose from");
  CHECK(refusal([] { choice_grammar(std::vector<std::string>{"\xFF"}, "choice"); }) ==
        "a text that is not UTF-8");
  CHECK(refusal([] { choice_grammar(std::vector<std::string>(3000, std::string(100, 'x')), "choice"); },
                Code::unsupported)
            .find("too large") != std::string::npos);
}

TEST_CASE("free text holds a tag's span to its content", "[constrain]") {
  std::vector<Tag> tags;
  tags.push_back({"<f=add>", schema(R"({"type": "array", "items": {"type": "integer"}})"), "</f>"});
  tags.push_back({"<f=say>", gbnf_grammar("root ::= [a-z]+", "grammar"), "</f>"});
  const GrammarPtr g = tags_grammar(tags, {{"<f="}}, "tags");
  for (const char* text : {"", "plain text, even <f or <g=", "<f=add>[1, 2]</f>",
                           "so: <f=say>hi</f> and <f=add>[]</f>.", "<<f=say>a</f>", "</f>"})
    CHECK(accepts(*g, text));
  for (const char* text : {"<f=", "<f=sub>", "<f=add>[1.5]</f>", "<f=add>[1]", "x<f=say>Hi</f>",
                           "<f=say></f>", "<f=say>a</f><f=", "\xFF", "a\xC3"})
    CHECK_FALSE(accepts(*g, text));
  const GrammarPtr once = tags_grammar(tags, {{}, true, true}, "tags");
  CHECK(accepts(*once, "first <f=say>hi</f>"));
  CHECK_FALSE(accepts(*once, "no tag"));
  CHECK_FALSE(accepts(*once, "<f=say>hi</f> more"));
  CHECK(accepts(*once, "<f=sub>, which is no trigger here<f=add>[]</f>"));
}

TEST_CASE("tags that contradict each other are refused", "[constrain]") {
  const GrammarPtr any = schema("true");
  const auto with = [&](std::vector<Tag> tags, std::vector<std::string> triggers) {
    return refusal([&] { tags_grammar(tags, {triggers}, "tags"); });
  };
  CHECK(with({}, {}) == "no tags");
  CHECK(with({{"", any, "x"}}, {}) == "a tag's beginning or trigger is empty");
  CHECK(with({{"<a>", any, ""}}, {"<b"}) == "no trigger opens the tag \"<a>\"");
  CHECK(with({{"<a>", any, ""}}, {"<a", "<b"}) == "the trigger \"<b\" opens no tag");
  CHECK(with({{"<a>", any, ""}}, {"<a", "<a"}) == "the trigger \"<a\" twice");
  CHECK(with({{"<a>\xFF", any, ""}}, {"<a"}) == "a tag's beginning that is not UTF-8");
}

TEST_CASE("a lazy grammar holds from its marker on", "[constrain]") {
  std::vector<Tag> tags{{"CALL", schema(R"({"type": "integer"})"), ""}};
  const GrammarPtr after = tags_grammar(tags, {{}, false, true}, "lazy");
  CHECK(accepts(*after, "anything, CAL LCA"));
  CHECK(accepts(*after, "so CALL 12"));
  CHECK_FALSE(accepts(*after, "so CALL"));
  CHECK_FALSE(accepts(*after, "so CALL 12 and on"));
  CHECK_FALSE(accepts(*after, "CALL 1 CALL 2"));
  tags[0] = {"{\"name\"", schema(R"({"type": "object", "required": ["name"]})"), "", true};
  const GrammarPtr with = tags_grammar(tags, {{}, false, true}, "lazy");
  CHECK(accepts(*with, "I call {\"name\": 1, \"x\": 2}"));
  CHECK(accepts(*with, "I call {\"game\": "));
  CHECK_FALSE(accepts(*with, "I call {\"name\": "));
}

TEST_CASE("Lark's notation", "[constrain]") {
  const auto lark = [](const char* source) { return lark_grammar(source, "grammar"); };
  const GrammarPtr sums = lark(R"x(
    // Sums.
    ?start: sum
    sum: product | sum "+" product -> add
    ?product: atom
      | product "*" atom
    atom: NUMBER | "(" sum ")" | "pi"i
    %import common.NUMBER
    %import common.WS
    %ignore WS
  )x");
  for (const char* text : {"1", "1+2", " ( 1 + 2.5e3 ) * PI ", "1\n+\n2"}) CHECK(accepts(*sums, text));
  for (const char* text : {"", "1+", "(1", "p i", "1 2"}) CHECK_FALSE(accepts(*sums, text));
  const GrammarPtr more = lark(R"x(
    start: item ("," item)* ";"?
    item: WORD~2..3 | [ "x" ] HEX | /a\/b[\/]?/
    WORD.2: "a".."c"
    HEX: "0x" HEXDIGIT+
    %import common (HEXDIGIT, LETTER)
  )x");
  for (const char* text : {"ab", "abc,0xF", "x0x1f;", "a/b", "a/b/,aa"}) CHECK(accepts(*more, text));
  for (const char* text : {"a", "abcd", "0x", "xx0x1", "a /b"}) CHECK_FALSE(accepts(*more, text));
  CHECK(refusal([&] { lark("start: x"); }) == "the rule \"x\", which is not defined, at line 1, column 8");
  CHECK(refusal([&] { lark("x: \"a\""); }).find("no rule \"start\"") == 0);
  CHECK(refusal([&] { lark("start: \"a"); }) == "a string that does not end at line 1, column 8");
  CHECK(refusal([&] { lark("start: /(/"); }).find(", in the pattern at line 1, column 8") !=
        std::string::npos);
  CHECK(refusal([&] { lark("start: /a/i"); }, Code::unsupported).find("the flag 'i'") == 0);
  CHECK(refusal([&] { lark("start{x}: x"); }, Code::unsupported).find("a template") == 0);
  CHECK(
      refusal([&] { lark("start: \"a\"\n%declare X"); }, Code::unsupported).find("the directive %declare") ==
      0);
  CHECK(refusal([&] { lark("%import other.X"); }, Code::unsupported).find("an import of anything") == 0);
  CHECK(refusal([&] { lark(("start: " + std::string(100'000, '(')).c_str()); }, Code::unsupported)
            .find("groups nested deeper") == 0);
}

TEST_CASE("compiling keeps to its limits, and may be cancelled", "[constrain]") {
  Budget few;
  few.nfa_states = 10;
  CHECK(refusal([&] { gbnf_grammar("root ::= \"abcdefghijkl\"", "grammar", few); }, Code::unsupported)
            .find("too large") != std::string::npos);
  Budget steps;
  steps.steps = 100;
  CHECK(refusal([&] { regex_grammar("[a-z]{100}x", "regex", steps); }, Code::unsupported).find("too large") !=
        std::string::npos);
  Budget bytes;
  bytes.bytes = 5;
  CHECK(refusal([&] { schema_grammar(R"({"a": 1})", {}, "schema", bytes); }, Code::unsupported) ==
        "has 8 bytes, expected at most 5");
  Budget asked;
  int n = 0;
  asked.go_on = [&] { return ++n < 3; };
  CHECK(refusal([&] { regex_grammar("(?:[a-z]{2,40}[0-9]){400}", "regex", asked); }, Code::cancelled) ==
        "compiling was cancelled");
  CHECK(n == 3);
  n = 0;
  CHECK(refusal([&] { gbnf_grammar("root ::= (\"a\"{1000}){100}", "grammar", asked); }, Code::cancelled) ==
        "compiling was cancelled");
}
