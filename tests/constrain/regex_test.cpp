#include "constrain/regex.h"

#include "ingle/error.hpp"
#include "support/catch.h"

using namespace ingle;
using namespace ingle::constrain;

namespace {

bool matches(const char* pattern, std::string_view text, Anchoring anchoring = Anchoring::whole) {
  Budget budget;
  return compile_regex(pattern, anchoring, budget, "regex").accepts(text);
}

Code refused(const std::string& pattern, const char* says) {
  Budget budget;
  try {
    compile_regex(pattern, Anchoring::whole, budget, "regex");
  } catch (const Error& e) {
    INFO(pattern.substr(0, 40) << ": " << e.what());
    CHECK(std::string(e.what()).find(says) != std::string::npos);
    return e.code();
  }
  return Code::ok;
}

}  // namespace

TEST_CASE("regular expressions match what they say", "[constrain]") {
  struct Case {
    const char *pattern, *good, *bad;
  };
  const Case cases[] = {
      {"abc", "abc", "abcd"},
      {"a|bc", "bc", "ab"},
      {"a*b+c?", "aabb", "aac"},
      {"[a-c]{2,3}", "abc", "abca"},
      {"[^a-c]", "é", "b"},
      {"\\d+-\\w", "12-_", "12-é"},
      {"(?:ab)+", "abab", "aba"},
      {".", "漢", "\n"},
      {"\\u00e9", "é", "e"},
      {"\\x41\\n", "A\n", "An"},
      {"[\\s\\S]", "\n", ""},
      {"\\p{Lu}\\p{Nd}", "É٣", "é3"},
      {"^a$", "a", "aa"},
      {"a{0}b", "b", "ab"},
      {"(?<n>x)|y", "y", "xy"},
      {"[\\]\\-x]+", "]-x", "a"},
      {"\\u{1F600}", "\U0001F600", ""},
      {"\\ud83d\\ude00", "\U0001F600", "?"},
      {"a+?b", "aab", "b"},
      {"\\P{L}", "1", "a"},
      {"()", "", "x"},
  };
  for (const Case& c : cases) {
    INFO(c.pattern);
    CHECK(matches(c.pattern, c.good));
    CHECK_FALSE(matches(c.pattern, c.bad));
  }
}

TEST_CASE("a search finds a pattern anywhere, and anchors hold at the ends alone", "[constrain]") {
  const auto found = [](const char* pattern, std::string_view text) {
    return matches(pattern, text, Anchoring::search);
  };
  CHECK(found("b", "abc"));
  CHECK(found("", ""));
  CHECK_FALSE(found("^b", "abc"));
  CHECK(found("^a|c$", "xc"));
  CHECK(found("^a|c$", "ax"));
  CHECK_FALSE(found("^a|c$", "xcx"));
  CHECK_FALSE(found("a^b", "ab"));
  CHECK_FALSE(matches("\xC3\xA9", "\xC3"));
  CHECK_FALSE(found("", "\xFF"));  // no text
}

TEST_CASE("what cannot be held is refused by name, within the budget", "[constrain]") {
  CHECK(refused("(a)\\1", "back reference") == Code::unsupported);
  CHECK(refused("a(?=b)", "look-ahead") == Code::unsupported);
  CHECK(refused("(?<!a)b", "look-behind") == Code::unsupported);
  CHECK(refused("\\bx", "word boundary") == Code::unsupported);
  CHECK(refused("\\p{Klingon}", "not known") == Code::unsupported);
  CHECK(refused("(a", "does not end at byte 2") == Code::invalid_argument);
  CHECK(refused("a)", "unmatched") == Code::invalid_argument);
  CHECK(refused("*a", "nothing to repeat") == Code::invalid_argument);
  CHECK(refused("[z-a]", "out of order") == Code::invalid_argument);
  CHECK(refused("a{3,2}", "out of order") == Code::invalid_argument);
  CHECK(refused("[a", "does not end") == Code::invalid_argument);
  CHECK(refused("\xFF", "not UTF-8") == Code::invalid_argument);
  CHECK(refused("a{1000000}", "more than 100000") == Code::unsupported);
  CHECK(refused("(a{1000}){1000}", "budget") == Code::unsupported);
  CHECK(refused("(a|b)*a(a|b){20}", "budget") == Code::unsupported);
  CHECK(refused(std::string(100'000, '('), "nested deeper") == Code::unsupported);
}
