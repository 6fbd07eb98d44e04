// What ends an answer and what of it is told: strings, patterns and tokens, left out or kept whole, the same
// in whatever way the answer is asked for.
#include "ingle/batch.hpp"
#include "support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr TokenId kEnd = 256, kStart = 257;  // the scripted vocabulary's control tokens

struct Told {
  std::vector<TokenEvent> events;
  std::string text;
  Finish how = Finish::none;
  std::vector<TokenId> held;  // by the session, behind the prompt
};

Told pulled(const Model& model, const GenerateOptions& options) {
  Session session(model);
  session.feed(bytes_of("q"));
  session.begin(options);
  Sampler greedy = Sampler::greedy();
  Told out;
  while (out.how == Finish::none) {
    out.events.push_back(session.next(greedy));
    out.text += out.events.back().text;
    out.how = out.events.back().finish;
  }
  out.held.assign(session.tokens().begin() + 1, session.tokens().end());
  return out;
}

Told by_engine(const Model& model, const GenerateOptions& options) {
  EngineOptions how;
  how.own_thread = false;
  how.state_bytes = 1 << 20;
  Engine engine(model, how);
  Request request;
  request.prompt = bytes_of("q");
  request.generate = options;
  request.sampler.temperature = 0;
  engine.submit(request);
  while (engine.step()) {
  }
  Told out;
  while (const auto event = engine.next(0)) {
    out.events.push_back(event->event);
    out.text += event->event.text;
    out.how = event->event.finish;
  }
  return out;
}

// Asks in each way, and gives what all of them told.
Told told(const Model& model, const GenerateOptions& options) {
  const Told one = pulled(model, options);
  Session session(model);
  session.feed(bytes_of("q"));
  Sampler greedy = Sampler::greedy();
  CHECK(session.generate(greedy, options) == one.text);
  const Told other = by_engine(model, options);
  CHECK(other.text == one.text);
  CHECK(other.how == one.how);
  GenerateOptions ahead = options;  // with another code that tells
  ahead.banned_phrases = {"never there"};
  const Told looked = pulled(model, ahead);
  CHECK(looked.text == one.text);
  CHECK(looked.how == one.how);
  CHECK(looked.held == one.held);
  return one;
}

Model script_of(const Runtime& runtime, std::vector<TokenId> ids) {
  ScriptedModel script;
  script.ids = std::move(ids);
  return Model::scripted(runtime, script);
}

std::vector<TokenId> joined(const std::string& a, TokenId id, const std::string& b) {
  std::vector<TokenId> out = bytes_of(a);
  out.push_back(id);
  for (const TokenId i : bytes_of(b)) out.push_back(i);
  return out;
}

}  // namespace

// vllm-project/vllm#3672
TEST_CASE("a stop string is left out whole or kept whole", "[api]") {
  const Runtime runtime = one_thread();
  for (const char* text : {"ab<END>cd", "<END>", "<<E<END>", "a<END><END>", "ab<EN"}) {
    for (const bool pattern : {false, true})
      for (const bool include : {false, true}) {
        CAPTURE(text, pattern, include);
        GenerateOptions options;
        (pattern ? options.stop_patterns : options.stop) = {"<END>"};
        options.include_stop = include;
        const Told got = told(scripted(runtime, text), options);
        const std::string whole = text;
        const size_t at = whole.find("<END>");
        CHECK(got.text == whole.substr(0, at == std::string::npos ? at : at + (include ? 5 : 0)));
        CHECK(got.how == (at == std::string::npos ? Finish::end : Finish::stop));
        // A part of it is told with its end alone.
        for (size_t i = 0; i + 1 < got.events.size(); ++i)
          CHECK(got.events[i].text.find("<EN") == std::string::npos);
      }
  }
}

TEST_CASE("the rest of a token that ends a stop is not told, kept or not", "[api]") {
  const Runtime runtime;
  const Model model = Model::load(runtime, tiny_model());  // tokens of several letters
  Session session(model);
  session.feed_text("Hello");
  GenerateOptions options;
  options.max_tokens = 24;
  options.ignore_end = true;
  Sampler greedy = Sampler::greedy();
  const std::string text = session.generate(greedy, options);
  REQUIRE(text.size() > 12);
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  for (size_t at = 1; at + 3 < text.size(); ++at) {
    size_t end = at + 2;
    while (end < text.size() && is_inside(text[end])) ++end;
    if (is_inside(text[at])) continue;
    const std::string stop = text.substr(at, end - at);
    const size_t first = text.find(stop);
    for (const bool include : {false, true}) {
      options.stop = {stop};
      options.include_stop = include;
      session.clear();
      session.feed_text("Hello");
      CAPTURE(stop, include);
      CHECK(session.generate(greedy, options) == text.substr(0, first + (include ? stop.size() : 0)));
    }
  }
}

TEST_CASE("a stop token ends the answer and takes nothing with it", "[api]") {
  const Runtime runtime = one_thread();
  const auto ask = [&](TokenId id, bool include, bool control) {
    GenerateOptions options;
    options.stop_tokens = {'!', id};
    options.include_stop = include;
    options.control_text = control;
    options.ignore_end = id == kEnd;  // it counts all the same
    const Told got = told(script_of(runtime, joined("ab", id, "cd")), options);
    CHECK(got.how == Finish::stop);
    CHECK(got.events.size() == 3);
    CHECK(got.events.back().id == id);
    CHECK(got.held == bytes_of("ab"));
    return got.text;
  };
  for (const bool control : {false, true}) {
    CHECK(ask('x', false, control) == "ab");
    CHECK(ask('x', true, control) == "abx");
    for (const TokenId id : {kStart, kEnd}) CHECK(ask(id, false, control) == "ab");
    CHECK(ask(kStart, true, control) == (control ? "ab<|start|>" : "ab"));
    CHECK(ask(kEnd, true, control) == (control ? "ab<|end|>" : "ab"));
  }
}

TEST_CASE("what a stop token interrupts is told as at any end", "[api]") {
  const Runtime runtime = one_thread();
  // Half a character, and half a stop string.
  for (const std::string before : {"a\xC3", "a<EN"}) {
    GenerateOptions options;
    options.stop = {"<END>"};
    const Told at_end = told(script_of(runtime, joined(before, kEnd, "")), options);
    options.stop_tokens = {'x'};
    const Told at_stop = told(script_of(runtime, joined(before, 'x', "cd")), options);
    CHECK(at_stop.text == at_end.text);
    CHECK(at_stop.how == Finish::stop);
  }
  // The token that is a stop may end a stop string as well.
  GenerateOptions options;
  options.stop = {"b!"};
  options.stop_tokens = {'!'};
  CHECK(told(scripted(runtime, "ab!c"), options).text == "ab");
  options.include_stop = true;
  CHECK(told(scripted(runtime, "ab!c"), options).text == "ab!");
}

TEST_CASE("stop tokens are ids of the vocabulary", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abc");
  Session session(model);
  session.feed(bytes_of("q"));
  GenerateOptions options;
  for (const TokenId id : {-1, 258, 1 << 30}) {
    options.stop_tokens = {'a', id};
    CHECK(code_of([&] { session.begin(options); }) == Code::invalid_argument);
    CHECK(code_of([&] { by_engine(model, options); }) == Code::invalid_argument);
  }
  options.stop_tokens.assign(257, 'a');
  CHECK(code_of([&] { session.begin(options); }) == Code::invalid_argument);
  options.stop_tokens.assign(256, 'b');
  session.begin(options);
  Sampler greedy = Sampler::greedy();
  CHECK(session.generate(greedy, options) == "a");
}

TEST_CASE("a stop token ends an answer that a grammar holds", "[api]") {
  const Runtime runtime = one_thread();
  for (const bool jump : {false, true}) {
    GenerateOptions options;
    options.grammar = Grammar::regex("abc[def]*");
    options.stop_tokens = {'c'};
    options.jump_ahead = jump;
    const Told got = pulled(scripted(runtime, "abcde"), options);
    CHECK(got.text == "ab");
    CHECK(got.how == Finish::stop);
    options.include_stop = true;
    CHECK(pulled(scripted(runtime, "abcde"), options).text == "abc");
  }
}

// ggml-org/llama.cpp#7038
TEST_CASE("a stop that comes first leaves no text, and log-probabilities of what was told", "[api]") {
  const Runtime runtime = one_thread();
  for (const int way : {0, 1, 2}) {
    GenerateOptions options;
    if (way == 0) options.stop = {"\n"};
    if (way == 1) options.stop_patterns = {"\\s"};
    if (way == 2) options.stop_tokens = {'\n'};
    options.top_logprobs = 10;
    for (const bool include : {false, true}) {
      options.include_stop = include;
      CAPTURE(way, include);
      const Model model = scripted(runtime, "\nabc");
      told(model, options);
      for (const Told& got : {pulled(model, options), by_engine(model, options)}) {
        CHECK(got.text == (include ? "\n" : ""));
        CHECK(got.how == Finish::stop);
        REQUIRE(got.events.size() == 1);  // the token that was the stop, with its own
        const TokenEvent& event = got.events[0];
        CHECK(event.id == '\n');
        REQUIRE(event.top.size() == 10);
        CHECK(event.top[0].id == '\n');
        CHECK(event.top[0].logprob == event.logprob);
      }
      CHECK(pulled(model, options).held.size() == (way == 2 ? 0 : 1));
    }
  }
}

// ml-explore/mlx-lm#1689
TEST_CASE("each session of a batch has its own limit, and short lists are refused", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdef");
  std::vector<Session> sessions;
  std::vector<Sampler> samplers(3, Sampler::greedy());
  for (const int64_t n : {2, 0, 1}) {
    Session& session = sessions.emplace_back(model);
    session.feed(bytes_of("q"));
    GenerateOptions limit;
    limit.max_tokens = n;
    session.begin(limit);
  }
  std::vector<std::string> texts(3);
  std::vector<Finish> ends(3, Finish::none);
  std::vector<int> tokens(3);
  for (;;) {
    std::vector<Session*> some;
    std::vector<Sampler*> theirs;
    std::vector<size_t> which;
    for (size_t i = 0; i < 3; ++i)
      if (ends[i] == Finish::none)
        some.push_back(&sessions[i]), theirs.push_back(&samplers[i]), which.push_back(i);
    if (some.empty()) break;
    theirs.pop_back();
    CHECK(code_of([&] { Batch::next(some, theirs); }) == Code::invalid_argument);
    theirs.push_back(&samplers[which.back()]);
    const auto outcomes = Batch::next(some, theirs);
    REQUIRE(outcomes.size() == some.size());
    for (size_t i = 0; i < outcomes.size(); ++i) {
      REQUIRE(!outcomes[i].error);
      texts[which[i]] += outcomes[i].event.text;
      ends[which[i]] = outcomes[i].event.finish;
      tokens[which[i]] += outcomes[i].event.id >= 0;
    }
  }
  CHECK(texts == std::vector<std::string>{"ab", "", "a"});
  CHECK(tokens == std::vector<int>{2, 0, 1});
  CHECK(ends == std::vector<Finish>(3, Finish::length));
}
