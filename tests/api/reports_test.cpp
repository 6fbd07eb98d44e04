// What other engines got wrong in answers, as their users reported it, each with the right result.
#include <algorithm>
#include <map>

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

// ggml-org/llama.cpp#3969: ten places in a context of 2048, as an engine has them.
TEST_CASE("a prompt larger than its share is refused, and an answer without end is bounded", "[api]") {
  const Runtime runtime = one_thread();
  ScriptedModel script;
  script.ids = std::vector<TokenId>(4096, 'x');  // it never ends
  const Model model = Model::scripted(runtime, script);
  EngineOptions options;
  options.own_thread = false;
  options.max_running = 10;
  options.context = 2048 / 10;
  options.state_bytes = 1 << 20;
  Engine engine(model, options);
  Request request;
  request.prompt = std::vector<TokenId>(300, 'q');
  CHECK(code_of([&] { engine.submit(request); }) == Code::context_full);
  request.prompt = std::vector<TokenId>(100, 'q');
  for (int i = 0; i < 10; ++i) engine.submit(request);
  int steps = 0;
  while (engine.step()) REQUIRE(++steps < 1000);
  int ended = 0, tokens = 0;
  while (const std::optional<EngineEvent> event = engine.next(0)) {
    tokens += event->event.id >= 0;
    if (event->event.finish == Finish::none) continue;
    CHECK(event->event.finish == Finish::context);
    ++ended;
  }
  CHECK(ended == 10);
  CHECK(tokens == 10 * (204 - 100 + 1));  // the last one needs no place: nothing follows it
}

// ml-explore/mlx-lm#1689, ggml-org/llama.cpp#4047
TEST_CASE("so many tokens come as were asked for, none where none were", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdef", "{{ messages[0].content }}");
  EngineOptions options;
  options.own_thread = false;
  options.state_bytes = 1 << 20;
  Engine engine(model, options);
  std::map<RequestId, int64_t> asked, got;
  for (const int64_t n : {0, 1, 2}) {
    CAPTURE(n);
    GenerateOptions limit;
    limit.max_tokens = n;
    const Streamed text = stream(model, limit);
    CHECK(static_cast<int64_t>(text.text.size()) == n);
    CHECK(text.how == Finish::length);
    Session chat(model);
    const Message message{"user", "hi"};
    chat.feed_chat({&message, 1});
    Sampler greedy = Sampler::greedy();
    CHECK(chat.generate(greedy, limit) == std::string("abcdef").substr(0, static_cast<size_t>(n)));
    Request request;
    request.prompt = std::string("q");
    request.generate = limit;
    asked[engine.submit(request)] = n;
  }
  while (engine.step()) {
  }
  int ended = 0;
  while (const std::optional<EngineEvent> event = engine.next(0)) {
    got[event->request] += event->event.id >= 0;
    if (event->event.finish == Finish::none) continue;
    CHECK(event->event.finish == Finish::length);
    ++ended;
  }
  CHECK(ended == 3);
  CHECK(got == asked);
  GenerateOptions wrong;
  wrong.max_tokens = -2;
  Session session(model);
  CHECK(code_of([&] { session.begin(wrong); }) == Code::invalid_argument);
}

// ggml-org/llama.cpp#24885
TEST_CASE("a template that writes BOS itself does not get a second one", "[api]") {
  const Runtime runtime = one_thread();
  constexpr TokenId kStart = 257;
  for (const char* source :
       {"<|start|>{{ messages[0].content }}", "{{ bos_token }}{{ messages[0].content }}"}) {
    Session session(scripted(runtime, "x", source));
    const Message message{"user", "<|start|>hi"};  // what a user wrote is text
    session.feed_chat({&message, 1});
    const std::span<const TokenId> ids = session.tokens();
    CHECK(ids[0] == kStart);
    CHECK(std::count(ids.begin(), ids.end(), kStart) == 1);
  }
}
