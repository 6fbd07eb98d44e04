// Stop strings over streamed text: nothing of a stop leaks, nothing else is lost, however the text is cut.
#include "engine/stop.h"

#include <random>

#include "support/catch.h"

using ingle::engine::StopFilter;

namespace {

using Texts = std::vector<std::string>;

// What is shown of the pieces, joined.
std::string shown(StopFilter filter, const Texts& pieces, bool* stopped = nullptr) {
  std::string out;
  for (const std::string& p : pieces) out += filter.push(p);
  out += filter.finish();
  if (stopped) *stopped = filter.stopped();
  return out;
}

// The text up to the stop that is complete first, or with it; of those that end together, the longest.
std::string expected(const Texts& stops, const std::string& text, bool include, bool& stopped) {
  size_t end = std::string::npos, at = std::string::npos;
  for (const std::string& s : stops) {
    const size_t found = text.find(s);
    if (found == std::string::npos) continue;
    if (found + s.size() < end || (found + s.size() == end && found < at)) end = found + s.size(), at = found;
  }
  stopped = at != std::string::npos;
  return text.substr(0, include ? end : at);
}

}  // namespace

TEST_CASE("without stops text passes as it comes", "[engine]") {
  StopFilter none;
  CHECK(none.push("some") == "some");
  CHECK(none.push("") == "");
  CHECK(none.finish() == "");
  CHECK_FALSE(none.stopped());
}

TEST_CASE("a stop is not shown, and the rest is swallowed", "[engine]") {
  StopFilter f({"END"});
  CHECK(f.push("one END two") == "one ");
  CHECK(f.stopped());
  CHECK(f.push("three") == "");
  CHECK(f.finish() == "");
}

TEST_CASE("a false start is held back until it is certain", "[engine]") {
  StopFilter f({"</s>"});
  CHECK(f.push("a<") == "a");
  CHECK(f.push("/") == "");
  CHECK(f.push("s") == "");
  CHECK(f.push("p") == "</sp");
  CHECK(f.push("<<") == "<");
  CHECK(f.push("/s") == "");
  CHECK(f.finish() == "</s");  // the answer ended otherwise
  CHECK_FALSE(f.stopped());
  CHECK(f.finish() == "");
}

TEST_CASE("a stop may start within a false start", "[engine]") {
  CHECK(shown(StopFilter({"aab"}), {"a", "a", "a", "b", "x"}) == "a");
  CHECK(shown(StopFilter({"abab", "abc"}), {"ab", "abc"}) == "");  // abab is complete before abc
  CHECK(shown(StopFilter({"\n\nUser:"}), {"\n", "\n", "\nUser", ":"}) == "\n");
}

TEST_CASE("of several stops the one that is complete first counts, however the text is cut", "[engine]") {
  const Texts stops = {"abcd", "bc"};
  CHECK(shown(StopFilter(stops), {"abcd"}) == "a");
  CHECK(shown(StopFilter(stops), {"a", "b", "c", "d"}) == "a");
  CHECK(shown(StopFilter({"bc", "abc"}), {"xab", "c"}) == "x");
}

TEST_CASE("whole characters stay whole", "[engine]") {
  // é is c3 a9 and è is c3 a8: a stop's first byte is no false start of another character.
  StopFilter f({"é"});
  CHECK(f.push("è") == "è");
  CHECK(f.push("xé") == "x");
  StopFilter g({"aé"});
  CHECK(g.push("a") == "");
  CHECK(g.push("è") == "aè");
}

TEST_CASE("any text in any pieces is cut at the same place", "[engine]") {
  std::mt19937 random(1);
  const Texts alphabet = {"a", "b", "é", "è", "🙂"};
  const auto text_of = [&](size_t most) {
    std::string t;
    for (size_t n = 1 + random() % most; n > 0; --n) t += alphabet[random() % alphabet.size()];
    return t;
  };
  int n_stopped = 0;
  for (int round = 0; round < 3000; ++round) {
    Texts stops, pieces;
    for (size_t n = random() % 4; n > 0; --n) stops.push_back(text_of(4));
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) pieces.push_back(text_of(3)), text += pieces.back();
    CAPTURE(stops, pieces);
    bool stopped = false, wanted = false;
    for (const bool include : {false, true}) {
      const std::string want = expected(stops, text, include, wanted);
      REQUIRE(shown(StopFilter(stops, {}, include), pieces, &stopped) == want);
      REQUIRE(stopped == wanted);
    }
    n_stopped += stopped;
  }
  CHECK(n_stopped > 300);
}
