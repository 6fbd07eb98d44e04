#include "core/json.h"

#include "core/error.h"
#include "support/catch.h"

using namespace ingle;

namespace {

std::string error_of(std::string_view text, RepeatedKeys repeated = RepeatedKeys::refused) {
  try {
    parse_json(text, "place", repeated);
  } catch (const Error& e) {
    CHECK(e.code() == Code::invalid_argument);
    CHECK(e.where() == "place");
    return e.message();
  }
  return "";
}

}  // namespace

TEST_CASE("JSON comes out as it was written, without its spaces", "[json]") {
  for (const char* text :
       {R"({"b":1,"a":[true,false,null,"x"],"":{}})", "1.50", "-0.0e+7", "123456789012345678901234567890",
        R"("a\nb\t\r\f\b\"\\\u0001 é / \\u0041")", "[]", "\"\x7f\""})
    CHECK(to_text(parse_json(text, "text")) == text);
  CHECK(to_text(parse_json(" { \"a\" :\n [ 1 , 2 ] } ", "text")) == R"({"a":[1,2]})");
  CHECK(to_text(parse_json(R"("\u00e9\/\u0041\ud83e\udd99")", "text")) == "\"é/A\xF0\x9F\xA6\x99\"");
}

TEST_CASE("what is no JSON says where", "[json]") {
  for (const char* text : {"", "{", "[1,]", "01", "\"\xC3\"", "\"\\ud83e\"", "1 2", "nul", "\"\n\"", "1e999"})
    CHECK(error_of(text).find("is not JSON: byte ") == 0);
  CHECK(error_of(std::string(256, '[') + std::string(256, ']')).empty());
  CHECK(error_of(std::string(257, '[') + std::string(257, ']')) == "is nested deeper than 256");
}

TEST_CASE("a key that is there twice is refused, or its last value counts", "[json]") {
  constexpr const char* kTwice = R"({"a":{"x":1},"b":2,"a":[{"c":1,"c":2}]})";
  CHECK(error_of(kTwice) == "the key \"a\" is there twice");
  CHECK(to_text(parse_json(kTwice, "text", RepeatedKeys::last_counts)) == R"({"b":2,"a":[{"c":2}]})");
}

TEST_CASE("JSON is built, changed and asked", "[json]") {
  Json object = Json::of_object({{"list", Json::of_array({Json::of_number("7"), Json::of_string("é\"")})}});
  object.member("flag") = Json::of_boolean(true);
  object.member("list").items.push_back({});
  object.member("empty");
  CHECK(to_text(object) == R"({"list":[7,"é\"",null],"flag":true,"empty":null})");
  object.erase("flag");
  object.erase("absent");
  CHECK(to_text(object) == R"({"list":[7,"é\"",null],"empty":null})");
  CHECK(object.find("flag") == nullptr);
  REQUIRE(object.find("list") != nullptr);
  CHECK(object.find("list")->items[1].is_text("é\""));
  CHECK_FALSE(object.find("list")->items[0].is_text("7"));  // a number
  CHECK(object.find("list")->find("list") == nullptr);      // of an array
}
