// Writing by a grammar: what is offered can always be completed, and what is completed is right.
#include <algorithm>
#include <random>
#include <string>

#include "constrain/grammar.h"
#include "constrain/mask.h"
#include "ingle/error.hpp"
#include "support/catch.h"

using namespace ingle;
using namespace ingle::constrain;

namespace {

const char* const kSchemas[] = {
    "true",
    R"({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a", "b"],
        "additionalProperties": false})",
    R"({"type": "object", "properties": {"aa": {}, "ab": {}, "b": {}}, "additionalProperties": false,
        "minProperties": 3})",
    R"({"type": "object", "required": ["x", "y"], "maxProperties": 2})",
    R"({"type": "integer", "minimum": 37, "maximum": 1203, "multipleOf": 7})",
    R"({"type": "number", "exclusiveMinimum": -0.5, "exclusiveMaximum": -0.25})",
    R"({"type": "number", "minimum": 100, "maximum": 100})",
    R"({"type": "integer", "maximum": -1000000})",
    R"({"type": "number", "multipleOf": 0.01, "minimum": 12.345, "maximum": 12.355})",
    R"({"type": "string", "pattern": "^[a-f]{3}-\\d+$"})",
    R"({"type": "string", "minLength": 2, "maxLength": 3})",
    R"({"type": "string", "pattern": "^(ab)*$", "minLength": 3, "maxLength": 5})",
    R"({"enum": ["red", "green", 1, null, {"a": [1, 2]}, true]})",
    R"({"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 2, "maxItems": 4, "contains": {"const": 3}})",
    R"({"type": "array", "uniqueItems": true, "items": {"type": "integer"}, "minItems": 2})",
    R"({"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b", "ab", true, null, 7]}, "minItems": 4})",
    R"({"type": "array", "uniqueItems": true, "items": {"type": "integer", "minimum": 8, "maximum": 11}})",
    R"({"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": false})",
    R"({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "object", "required": ["k"]}]})",
    R"({"oneOf": [{"properties": {"t": {"const": "a"}, "v": {"type": "integer"}}, "required": ["t", "v"]},
                  {"properties": {"t": {"const": "b"}, "v": {"type": "string"}}, "required": ["t", "v"]}],
        "type": "object", "additionalProperties": true})",
    R"({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "required": ["left"],
        "properties": {"left": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}}, "additionalProperties": false}}})",
    R"({"type": "object", "patternProperties": {"^n": {"type": "number"}}, "additionalProperties": {"type": "null"}})",
    R"({"not": {"type": ["string", "object", "array", "number"]}})",
    R"({"type": "object", "propertyNames": {"pattern": "^[a-c]$"}, "minProperties": 2})",
    R"({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}, "type": "object"})",
    // Lengths that are counted beside the states.
    R"({"type": "string", "pattern": "^(?:\\S+\\s+){0,99}\\S+$", "minLength": 4, "maxLength": 65})",
    R"({"type": "string", "pattern": "^(?:\\S+\\s+){0,99}\"\\\\end$", "maxLength": 63})",
    R"({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 3, "exclusiveMinimum": true})",
    R"({"$schema": "http://json-schema.org/draft-04/schema#", "not": {"type": "integer"}, "type": "number", "maximum": 9,
        "minimum": 9})",
};

// Empty when not whole after 120 bytes more. A random text of at most about `limit` bytes: any offered byte,
// then those that lead to the end.
std::string write(const Grammar& grammar, std::mt19937& random, size_t limit) {
  auto at = grammar.matcher(Purpose::write);
  std::string text;
  while (true) {
    std::vector<uint8_t> offered;
    for (int b = 0; b < 256; ++b) {
      const auto next = at->clone();
      if (next->advance(static_cast<uint8_t>(b))) offered.push_back(static_cast<uint8_t>(b));
    }
    if (at->accepting() && (offered.empty() || text.size() >= limit || random() % 8 == 0)) return text;
    INFO("after " << text);
    REQUIRE_FALSE(offered.empty());
    uint8_t byte = offered[random() % offered.size()];
    if (text.size() >= limit)  // what closes comes first; then what is short
      for (const char wanted : std::string("\"}],:n") + std::to_string(random() % 10))
        if (std::find(offered.begin(), offered.end(), static_cast<uint8_t>(wanted)) != offered.end()) {
          byte = static_cast<uint8_t>(wanted);
          break;
        }
    REQUIRE(at->advance(byte));
    text += static_cast<char>(byte);
    if (text.size() > limit + 120) return {};  // chance did not come upon the members that are required
  }
}

bool accepts(const Grammar& grammar, std::string_view text) {
  const auto matcher = grammar.matcher(Purpose::judge);
  return matcher->advance(text) && matcher->accepting();
}

}  // namespace

TEST_CASE("every way of writing by a schema can be completed, and is then right", "[constrain]") {
  std::mt19937 random(7);
  int whole = 0, all = 0;
  for (const char* schema : kSchemas) {
    CAPTURE(schema);
    const GrammarPtr grammar = schema_grammar(schema, {}, "schema");
    for (int i = 0; i < 4; ++i) {
      const std::string text = write(*grammar, random, 60);
      ++all;
      if (text.empty()) continue;
      ++whole;
      CAPTURE(text);
      CHECK(accepts(*grammar, text));
    }
  }
  CHECK(whole * 10 > all * 8);
}

TEST_CASE("an object of very many shapes judges, and refuses to write", "[constrain]") {
  std::string any;
  for (int i = 0; i < 300; ++i) {
    const std::string n = std::to_string(i);
    any += std::string(i ? "," : "") + R"({"required": ["a)" + n +
           R"(", "b"], "properties": {"b": {"const": )" + n + "}}}";
  }
  const GrammarPtr grammar = schema_grammar(R"({"type": "object", "anyOf": [)" + any + "]}", {}, "schema");
  CHECK(accepts(*grammar, R"({"a7": 0, "b": 7})"));
  CHECK_FALSE(accepts(*grammar, R"({"a7": 0, "b": 8})"));
  CHECK_THROWS_AS(grammar->matcher(Purpose::write), Error);
}

TEST_CASE("an escape that begins can be completed", "[constrain]") {
  const auto grammar = schema_grammar(R"({"type": "string"})", {}, "schema");
  for (const std::string begin : {"\"\\u", "\"\\ud", "\"\\uD", "\"\\ud8", "\"\\uDb", "\"\\udc", "\"\\udE",
                                  "\"\\udE9", "\"\\ud8", "\"\\ud83D\\u", "\"\\ud83D\\ud", "\"\\ud83D\\udC"}) {
    CAPTURE(begin);
    const auto at = grammar->matcher(Purpose::write);
    bool dead = false;
    for (const char c : begin) dead = dead || !at->advance(static_cast<uint8_t>(c));
    if (dead) continue;
    bool goes_on = false;
    for (int byte = 0; byte < 256; ++byte)
      goes_on = goes_on || at->clone()->advance(static_cast<uint8_t>(byte));
    CHECK(goes_on);
  }
}

TEST_CASE("a schema that nothing fulfils judges, and refuses to write", "[constrain]") {
  for (const char* schema : {"false", R"({"type": "string", "minLength": 3, "maxLength": 2})",
                             R"({"type": "object", "required": ["a"], "properties": {"a": false}})",
                             R"({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "minItems": 1,
                                "items": {"$ref": "#/$defs/a"}}}})"}) {
    CAPTURE(schema);
    const GrammarPtr grammar = schema_grammar(schema, {}, "schema");
    CHECK_FALSE(accepts(*grammar, "1"));
    CHECK_THROWS_AS(grammar->matcher(Purpose::write), Error);
  }
}

TEST_CASE("a key is the same key however it is spelled, and comes once", "[constrain]") {
  const GrammarPtr grammar = schema_grammar(
      R"({"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}})", {},
      "schema");
  CHECK(accepts(*grammar, R"({"a": 1, "b": "x"})"));
  CHECK(accepts(*grammar, R"({"\u0061": 1})"));
  CHECK_FALSE(accepts(*grammar, R"({"\u0061": "x"})"));
  CHECK_FALSE(accepts(*grammar, R"({"a": 1, "\u0061": 1})"));
  CHECK_FALSE(accepts(*grammar, R"({"b": "x", "\u0062": "x"})"));
  CHECK(accepts(*grammar, R"({"\ud83d\ude00": "x"})"));
  CHECK_FALSE(accepts(*grammar, R"({"\ud83d": "x"})"));
}

TEST_CASE("numbers are judged by value", "[constrain]") {
  const auto number = [](const char* schema, std::string_view text) {
    return accepts(*schema_grammar(schema, {}, "schema"), text);
  };
  CHECK(number(R"({"const": 100})", "1e2"));
  CHECK(number(R"({"const": 100})", "100.00"));
  CHECK(number(R"({"type": "integer"})", "1.50e1"));
  CHECK_FALSE(number(R"({"type": "integer"})", "1.5e0"));
  CHECK(number(R"({"maximum": 0.1})", "0.1"));
  CHECK_FALSE(number(R"({"maximum": 0.1})", "0.10000000000000000000000000000000000001"));
  CHECK(number(R"({"multipleOf": 0.1})", "123456789012345678901234567890.1"));
  CHECK_FALSE(number(R"({"minimum": 0})", "-1e-400"));
  CHECK_FALSE(number("true", "01"));
  CHECK_FALSE(number("true", "1."));
  CHECK_FALSE(number("true", "+1"));
}

TEST_CASE("a beginning of a number stands for those that the same may follow", "[constrain]") {
  const char* const schemas[] = {R"({"type": "integer", "minimum": 0, "maximum": 2147})",
                                 R"({"type": "integer", "minimum": 37, "maximum": 1203})",
                                 R"({"type": "number", "minimum": 12.5})",
                                 R"({"type": "number", "exclusiveMinimum": 99.95, "maximum": 1009})",
                                 R"({"type": "number", "minimum": -30.25, "exclusiveMaximum": 7})",
                                 R"({"type": "number", "maximum": -4})",
                                 R"({"type": "integer", "minimum": -120, "exclusiveMaximum": 99})",
                                 R"({"type": "number", "maximum": 1e3})",
                                 R"({"type": "integer", "minimum": 1000})",
                                 R"({"type": "number", "minimum": 0.05, "maximum": 0.5})"};
  std::mt19937 random(3);
  int taken = 0;
  for (const char* schema : schemas) {
    const GrammarPtr grammar = schema_grammar(schema, {}, "schema");
    for (int i = 0; i < 3000; ++i) {
      std::string text = std::string(random() % 2, '-') + std::to_string(random() % 10);
      for (const char* digits : {"0123456789", "0123456789", ".0123456789", ".0123456789", "0123456789"})
        if (random() % 3) text += digits[random() % std::string_view(digits).size()];
      const auto at = grammar->matcher(Purpose::write);
      const bool written = at->advance(text) && at->accepting(), judged = accepts(*grammar, text);
      CAPTURE(schema, text);
      if (written) REQUIRE(judged);
      taken += written;
      // What is right and has no more decimals than are offered may be written.
      const size_t point = text.find('.');
      const size_t decimals = std::string_view(schema).find("integer") == std::string_view::npos ? 2 : 1;
      if (judged && (point == text.npos || text.size() - point - 1 <= decimals)) REQUIRE(written);
    }
  }
  CHECK(taken > 5000);
}

TEST_CASE("hostile schemas end in an error within the budget", "[constrain]") {
  const auto code = [](const std::string& schema) {
    try {
      schema_grammar(schema, {}, "schema");
      return Code::ok;
    } catch (const Error& e) {
      CHECK_FALSE(e.where().empty());
      return e.code();
    }
  };
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"not":)";
  CHECK(code(deep) == Code::invalid_argument);
  CHECK(code(R"({"$ref": "#"})") == Code::invalid_argument);
  CHECK(code(R"({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}})") ==
        Code::invalid_argument);
  CHECK(code(R"({"$ref": "#/nowhere"})") == Code::invalid_argument);
  CHECK(code(R"({"$ref": "https://example.org/other.json"})") == Code::unsupported);
  CHECK(code(R"({"type": "strin"})") == Code::invalid_argument);
  CHECK(code(R"({"type": "string", "pattern": "(a|b)*a(a|b){30}"})") == Code::unsupported);
  // Refused also where a proof that two alternatives exclude each other came upon the pattern first.
  CHECK(
      code(R"({"oneOf": [{"type": "string", "pattern": "^c"}, {"type": "string", "pattern": "(?=a)b"}]})") ==
      Code::unsupported);
  CHECK(code(R"({"properties": {"a": 3}})") == Code::invalid_argument);
  CHECK(code(R"({"a": 1, "a": 2})") == Code::invalid_argument);
  std::string wide = R"({"allOf": [)";
  for (int i = 0; i < 30; ++i)
    wide += (i ? "," : "") + std::string(R"({"anyOf": [{"required": ["a)") + std::to_string(i) +
            R"("]}, {"required": ["b)" + std::to_string(i) + R"("]}]})";
  CHECK(code(wide + "]}") == Code::unsupported);
}

TEST_CASE("a mask has just the tokens whose bytes go on", "[constrain]") {
  const std::vector<std::string> pieces = {"",    "{",    "}",  "\"",    "\"a\"", "\"a\":", "\"b",
                                           "1",   "12",   "-",  " ",     "a",     "\",",    "\"}",
                                           "\\n", "ab\"", "\n", "x\xC3", "[",     "\x01"};
  const auto trie = std::make_shared<const TokenTrie>(pieces);
  const GrammarPtr grammar =
      schema_grammar(R"({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                                                "additionalProperties": false})",
                     {}, "schema");
  Masker masker(trie);
  auto at = grammar->matcher(Purpose::write);
  const std::string_view text = R"({"a": "xy"})";
  for (size_t i = 0; i <= text.size(); ++i) {
    INFO("after " << text.substr(0, i));
    const TokenMaskPtr mask = masker.mask(*at);
    CHECK(masker.mask(*at) == mask);  // remembered
    for (size_t t = 0; t < pieces.size(); ++t) {
      INFO("token " << pieces[t]);
      const auto next = at->clone();
      CHECK((*mask)[static_cast<int64_t>(t)] == (!pieces[t].empty() && next->advance(pieces[t])));
    }
    if (i < text.size()) REQUIRE(at->advance(static_cast<uint8_t>(text[i])));
  }
  CHECK(at->accepting());
  CHECK(masker.mask(*at)->none());
}
