// What the drafts of JSON Schema read differently, and what tells which of them is meant.
#include "constrain/grammar.h"
#include "ingle/error.hpp"
#include "support/catch.h"

using namespace ingle;
using namespace ingle::constrain;

namespace {

std::string with(const std::string& draft, const std::string& members) {
  return R"({"$schema": "http://json-schema.org/draft-)" + draft + R"(/schema#", )" + members + "}";
}

bool accepts(const std::string& schema, std::string_view text, Purpose purpose = Purpose::judge) {
  const auto matcher = schema_grammar(schema, {}, "schema")->matcher(purpose);
  return matcher->advance(text) && matcher->accepting();
}

std::string refusal(const std::string& schema) {
  try {
    schema_grammar(schema, {}, "schema");
  } catch (const Error& e) {
    return e.where();
  }
  return {};
}

}  // namespace

TEST_CASE("an integer of draft 4 has neither point nor exponent", "[constrain]") {
  const std::string integer = R"("type": "integer")";
  for (const Purpose purpose : {Purpose::judge, Purpose::write}) {
    CHECK(accepts(with("04", integer), "12", purpose));
    CHECK(accepts(with("04", integer), "-0", purpose));
    CHECK_FALSE(accepts(with("04", integer), "12.0", purpose));
    CHECK_FALSE(accepts(with("04", integer), "1e2", purpose));
    CHECK(accepts(with("06", integer), "12.0", purpose));
    CHECK_FALSE(accepts(with("04", R"("not": {"type": "integer"})"), "12", purpose));
    CHECK(accepts(with("04", R"("not": {"type": "integer"})"), "12.0", purpose));
    CHECK(accepts(with("04", R"("not": {"type": "integer"}, "enum": [12])"), "12.0", purpose));
    CHECK_FALSE(accepts(with("04", R"("not": {"type": "integer"}, "enum": [12])"), "12", purpose));
    CHECK(accepts(with("04", R"("type": ["integer", "number"])"), "12.0", purpose));
    CHECK(accepts(with("04", R"("multipleOf": 1)"), "12.0", purpose));
    CHECK(accepts(with("04", R"("enum": [{"a": [12]}])"), R"({"a":[12.0]})", purpose));
    CHECK_FALSE(accepts(with("04", R"("enum": [{"a": [12]}])"), R"({"a":[13]})", purpose));
  }
  CHECK(accepts(with("06", integer), "1e2"));
  CHECK_FALSE(accepts(with("04", R"("allOf": [{"type": "integer"}, {"not": {"type": "integer"}}])"), "1"));
}

TEST_CASE("bounds of draft 4 are made exclusive by true", "[constrain]") {
  const std::string open =
      R"("minimum": 1, "exclusiveMinimum": true, "maximum": 3, "exclusiveMaximum": false)";
  for (const std::string& schema : {with("04", open), "{" + open + "}"}) {
    CHECK_FALSE(accepts(schema, "1"));
    CHECK(accepts(schema, "1.5"));
    CHECK(accepts(schema, "3"));
    CHECK_FALSE(accepts(schema, "3.5"));
  }
  CHECK_FALSE(accepts(with("04", R"("not": {"minimum": 1, "exclusiveMinimum": true})"), "2"));
  CHECK(accepts(with("04", R"("not": {"minimum": 1, "exclusiveMinimum": true})"), "1"));
  CHECK(accepts(with("06", R"("exclusiveMinimum": 1)"), "2"));
  CHECK_FALSE(accepts(with("06", R"("exclusiveMinimum": 1)"), "1"));
  CHECK(refusal(with("06", R"("minimum": 1, "exclusiveMinimum": true)")) == "schema#/exclusiveMinimum");
  CHECK(refusal(with("04", R"("minimum": 1, "exclusiveMinimum": 1)")) == "schema#/exclusiveMinimum");
  // A property may be called so.
  CHECK(accepts(R"({"properties": {"exclusiveMinimum": true, "n": {"type": "integer"}}})", R"({"n":1.0})"));
}

TEST_CASE("a keyword that a draft has not says nothing", "[constrain]") {
  const std::string parts =
      R"("const": 1, "contains": false, "propertyNames": false, "if": true, "then": false)";
  CHECK(accepts(with("04", parts), "[2]"));
  CHECK(accepts(with("04", parts), R"({"a":2})"));
  CHECK_FALSE(accepts(with("06", R"("const": 1)"), "2"));
  CHECK_FALSE(accepts(with("06", R"("contains": {"type": "null"})"), "[2]"));
  CHECK(accepts(with("06", R"("if": true, "then": false)"), "2"));
  CHECK_FALSE(accepts(with("07", R"("if": true, "then": false)"), "2"));
  const std::string both = R"("dependentRequired": {"a": ["b"]}, "dependencies": {"c": ["d"]})";
  CHECK(accepts(with("07", both), R"({"a":1})"));
  CHECK_FALSE(accepts(with("07", both), R"({"c":1})"));
  const std::string latest = R"({"$schema": "https://json-schema.org/draft/2020-12/schema", )" + both + "}";
  CHECK_FALSE(accepts(latest, R"({"a":1})"));
  CHECK(accepts(latest, R"({"c":1})"));
  // Where nothing says which draft it is, all are held.
  CHECK_FALSE(accepts("{" + both + "}", R"({"a":1})"));
  CHECK_FALSE(accepts("{" + both + "}", R"({"c":1})"));
}

TEST_CASE("a schema of draft 4 is an object and its name is id", "[constrain]") {
  CHECK(refusal(with("04", R"("properties": {"a": true})")).starts_with("schema#/properties"));
  CHECK(accepts(with("04", R"("additionalProperties": false, "properties": {"a": {}})"), R"({"a":1})"));
  CHECK(accepts(with("06", R"("properties": {"a": true})"), R"({"a":1})"));
  const std::string named =
      R"("id": "http://x/y", "definitions": {"n": {"id": "#n", "type": "null"}}, "items": )";
  CHECK(accepts(with("04", named + R"({"$ref": "#n"})"), "[null]"));
  CHECK_FALSE(accepts(with("04", named + R"({"$ref": "http://x/y#n"})"), "[1]"));
  CHECK_FALSE(refusal(with("06", named + R"({"$ref": "#n"})")).empty());
  CHECK(refusal(R"({"$schema": "http://json-schema.org/draft-03/schema#"})") == "schema#/$schema");
}
