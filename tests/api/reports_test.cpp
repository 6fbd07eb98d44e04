// What other engines got wrong in answers, as their users reported it, each with the right result.
#include "support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

struct Streamed {
  std::vector<TokenEvent> events;
  std::string text;
  Finish how = Finish::none;
};

Streamed stream(const Model& model, const GenerateOptions& options) {
  Session session(model);
  session.feed(bytes_of("q"));
  session.begin(options);
  Sampler greedy = Sampler::greedy();
  Streamed out;
  while (out.how == Finish::none) {
    out.events.push_back(session.next(greedy));
    out.text += out.events.back().text;
    out.how = out.events.back().finish;
  }
  return out;
}

}  // namespace

TEST_CASE("a false start of a stop string is told once", "[api]") {
  const Runtime runtime = one_thread();
  for (const char* patterns : {"", "Alice:"}) {
    GenerateOptions options;
    options.stop = {"\n", "Alice:"};
    if (*patterns) options.stop = {"\n"}, options.stop_patterns = {patterns};
    const Streamed got = stream(scripted(runtime, " Alice!\nx"), options);
    CHECK(got.text == " Alice!");
    CHECK(got.how == Finish::stop);
  }
}

TEST_CASE("characters that are split over tokens come whole", "[api]") {
  const Runtime runtime = one_thread();
  const std::string text = "\U0001F469\u200D\U0001F469\u200D\U0001F467 \u00F1 \u6B6A \u00E9";
  for (const bool looking_ahead : {false, true}) {
    GenerateOptions options;
    if (looking_ahead) options.banned_phrases = {"\u00F1x", "never"};
    const Streamed got = stream(scripted(runtime, text), options);
    CHECK(got.text == text);
    for (const TokenEvent& e : got.events)
      if (!e.text.empty()) CHECK((static_cast<unsigned char>(e.text[0]) & 0xC0) != 0x80);
  }
}

TEST_CASE("a stop string across tokens never leaks", "[api]") {
  const Runtime runtime = one_thread();
  GenerateOptions options;
  for (const bool pattern : {false, true}) {
    options = {};
    (pattern ? options.stop_patterns : options.stop) = {"<END>"};
    for (const char* script : {"ab<END>cd", "<<END>", "<EN<END>x"}) {
      const Streamed got = stream(scripted(runtime, script), options);
      const std::string whole = script;
      CHECK(got.text == whole.substr(0, whole.find("<END>")));
      CHECK(got.how == Finish::stop);
    }
    const Streamed cut = stream(scripted(runtime, "ab<EN"), options);
    CHECK(cut.text == "ab<EN");
    CHECK(cut.how == Finish::end);
  }
}
