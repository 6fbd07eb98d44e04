// What other engines got wrong, as their users reported it, each with the right answer.
#include <set>

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

// What is judged and what may be written must agree.
bool both(const char* schema, std::string_view text) {
  const GrammarPtr grammar = schema_grammar(schema, {}, "schema");
  const bool judged = accepts(*grammar, text);
  const auto writing = grammar->matcher(Purpose::write);
  const bool written = writing->advance(text) && writing->accepting();
  CHECK(judged == written);
  return judged;
}

}  // namespace

TEST_CASE("a declared property is never an additional one", "[constrain]") {
  const char* schema =
      R"({"type": "object", "properties": {"count": {"type": "integer"}}, "additionalProperties": true})";
  CHECK(both(schema, "{}"));
  CHECK(both(schema, R"({"count":1})"));
  CHECK(both(schema, R"({"z":"x"})"));
  CHECK_FALSE(both(schema, R"({"count":"one"})"));
  // Escaped, the key is the same key; answers are not offered such spellings.
  const GrammarPtr grammar = schema_grammar(schema, {}, "schema");
  CHECK_FALSE(accepts(*grammar, R"({"\u0063ount":"one"})"));
  CHECK(accepts(*grammar, R"({"\u0063ount":1})"));
}

TEST_CASE("control characters in strings are escaped or refused", "[constrain]") {
  const char* schema = R"({"type": "object", "properties": {"t": {"type": "string"}}})";
  for (int c = 0; c < 0x20; ++c) {
    INFO(c);
    CHECK_FALSE(both(schema, std::string(R"({"t":")") + static_cast<char>(c) + "x\"}"));
    constexpr char kHex[] = "0123456789abcdef";
    CHECK(both(schema, std::string(R"({"t":"\u00)") + kHex[c >> 4] + kHex[c & 15] + "x\"}"));
  }
  CHECK(both(schema, R"({"t":"\tx"})"));
}

TEST_CASE("required properties need not be declared", "[constrain]") {
  const char* schema = R"({"type": "object", "required": ["a"]})";
  CHECK(both(schema, R"({"a":1})"));
  CHECK(both(schema, R"({"a":1,"b":[2]})"));
  CHECK(both(schema, R"({"b":[2],"a":1})"));
  CHECK_FALSE(both(schema, "{}"));
  CHECK_FALSE(both(schema, R"({"b":1})"));
}

TEST_CASE("lengths have no bound at which they stop working, and count code points", "[constrain]") {
  for (const int n : {0, 1, 1999, 2000, 2001, 10000}) {
    INFO(n);
    const std::string of = std::to_string(n);
    const GrammarPtr text = schema_grammar(R"({"type": "string", "maxLength": )" + of + "}", {}, "schema");
    const GrammarPtr list = schema_grammar(R"({"type": "array", "maxItems": )" + of + "}", {}, "schema");
    const auto repeated = [](const char* what, int times, const char* between) {
      std::string out;
      for (int i = 0; i < times; ++i) out += (i ? between : "") + std::string(what);
      return out;
    };
    for (const char* character : {"x", "\xC3\xA9", "\xF0\x9F\xA6\x99"}) {
      CHECK(accepts(*text, "\"" + repeated(character, n, "") + "\""));
      CHECK_FALSE(accepts(*text, "\"" + repeated(character, n + 1, "") + "\""));
    }
    CHECK(accepts(*list, "[" + repeated("1", n, ",") + "]"));
    CHECK_FALSE(accepts(*list, "[" + repeated("1", n + 1, ",") + "]"));
  }
}

TEST_CASE("a constraint that cannot be held is an error, never nothing", "[constrain]") {
  const auto code = [](const char* schema) {
    try {
      schema_grammar(schema, {}, "schema");
    } catch (const Error& e) {
      return e.code();
    }
    return Code::ok;
  };
  CHECK(code(R"({"type": "string", "pattern": "("})") == Code::invalid_argument);
  // "\!" is no escape of ECMA-262 in Unicode mode, but what it means is plain; held or refused, never
  // dropped.
  const char* bang = R"({"type": "string", "pattern": "^hi there\\!$"})";
  if (code(bang) == Code::ok) {
    CHECK(both(bang, R"("hi there!")"));
    CHECK_FALSE(both(bang, R"("hi there")"));
  }
}

TEST_CASE("a large choice is exactly its members", "[constrain]") {
  const char* const kWords[3][12] = {
      {"red", "blue", "green", "dark", "light", "old", "new", "tall", "short", "wide", "thin", "re"},
      {"Cat", "Dog", "Bird", "Fish", "Cow", "Horse", "Sheep", "Goat", "Duck", "Hen", "Pig", "Ca"},
      {"One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "On"}};
  std::set<std::string> members, all;
  int number = 0;
  for (const char* a : kWords[0])
    for (const char* b : kWords[1])
      for (const char* c : kWords[2]) {
        all.insert(std::string(a) + b + c);
        if (++number % 10 < 7) members.insert(std::string(a) + b + c);
      }
  REQUIRE(members.size() > 1150);
  std::string schema = R"({"enum": [)", gbnf = "root ::= ";
  for (const std::string& m : members) {
    schema += (m == *members.begin() ? "\"" : ",\"") + m + "\"";
    gbnf += (m == *members.begin() ? "\"" : "|\"") + m + "\"";
  }
  const std::vector<std::string> list(members.begin(), members.end());
  const GrammarPtr by_schema = schema_grammar(schema + "]}", {}, "schema"),
                   by_choice = choice_grammar(list, "choice"), by_rules = gbnf_grammar(gbnf, "grammar");
  size_t n_accepted = 0, n_probed = 0;
  for (const std::string& text : all) {
    const bool member = members.count(text) > 0;
    n_accepted += member;
    const bool probed = ++n_probed % 8 == 0;  // its beginnings too
    bool right = accepts(*by_schema, "\"" + text + "\"") == member && accepts(*by_choice, text) == member &&
                 accepts(*by_rules, text) == member;
    for (size_t n = 1; n < text.size() && right && probed; n += 3) {
      const std::string part = text.substr(0, n);
      const bool is_member = members.count(part) > 0;
      right = accepts(*by_schema, "\"" + part + "\"") == is_member &&
              accepts(*by_choice, part) == is_member && accepts(*by_rules, part) == is_member;
    }
    INFO(text);
    REQUIRE(right);
  }
  CHECK(n_accepted == members.size());
}

TEST_CASE("alternatives that a member tells apart need not require it", "[constrain]") {
  std::string schema = R"({"type": "object", "required": ["n"], "oneOf": [)";
  for (int i = 0; i < 14; ++i)
    schema += (i ? R"(, {"properties": {"kind": {"enum": ["k)" : R"({"properties": {"kind": {"enum": ["k)") +
              std::to_string(i) + R"("]}, "text": {"type": "string", "title": ")" + std::to_string(i) +
              R"("}}})";
  schema += "]}";
  CHECK(both(schema.c_str(), R"({"kind":"k3","n":1})"));
  CHECK(both(schema.c_str(), R"({"kind":"k13","n":1,"text":"x"})"));
  CHECK_FALSE(both(schema.c_str(), R"({"kind":"k3","n":1,"text":2})"));
  CHECK_FALSE(both(schema.c_str(), R"({"kind":"k14","n":1})"));
  CHECK_FALSE(both(schema.c_str(), R"({"kind":"k3"})"));
  CHECK_FALSE(both(schema.c_str(), R"({"n":1})"));  // all alternatives hold
}

TEST_CASE("words are counted in texts of bounded length", "[constrain]") {
  const char* schema = R"({"type": "string", "pattern": "^(?:\\S+\\s+){0,49}\\S+$", "maxLength": 500})";
  CHECK(both(schema, R"("one two")"));
  CHECK_FALSE(both(schema, R"("one two ")"));
  CHECK_FALSE(both(schema, "\"\""));
  std::string words = "\"w";
  for (int i = 0; i < 49; ++i) words += " w";
  CHECK(both(schema, words + "\""));
  CHECK_FALSE(both(schema, words + " w\""));
  CHECK(both(schema, "\"a " + std::string(498, 'x') + "\""));
  CHECK_FALSE(both(schema, "\"a " + std::string(499, 'x') + "\""));
  // The last character must come.
  const auto at = schema_grammar(schema, {}, "schema")->matcher(Purpose::write);
  REQUIRE(at->advance("\"" + std::string(498, 'x')));
  CHECK_FALSE(at->clone()->advance("  "));
  CHECK(at->clone()->advance(" x\""));
  CHECK(at->clone()->advance(" \\u0041\""));
  CHECK_FALSE(at->clone()->advance(" \\u000A"));
}
