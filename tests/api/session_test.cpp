// Sessions on scripted models: what the answer will be is known.
#include <thread>

#include "support.h"

using namespace ingle;
using namespace ingle::tests;

TEST_CASE("an answer is the script's text, in whole characters", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "Größe 🦙 end");
  Session session(model);
  session.feed_text("q");
  Sampler greedy = Sampler::greedy();
  std::string text;
  for (TokenEvent e; e.finish == Finish::none;) {
    e = session.next(greedy);
    // No event may end inside a character: its first byte is never a continuation byte.
    if (!e.text.empty()) CHECK((static_cast<unsigned char>(e.text.front()) & 0xC0) != 0x80);
    text += e.text;
    if (e.finish != Finish::none) CHECK(e.finish == Finish::end);
  }
  CHECK(text == "Größe 🦙 end");
  CHECK(code_of([&] { session.next(greedy); }) == Code::invalid_argument);
}

TEST_CASE("stop strings end an answer and never leak", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "one STAR two STOP three");
  Session session(model);
  session.feed_text("q");
  Sampler greedy = Sampler::greedy();
  GenerateOptions options;
  options.stop = {"STOP", "never"};
  CHECK(session.generate(greedy, options) == "one STAR two ");
  options.stop = {""};
  CHECK(code_of([&] { session.begin(options); }) == Code::invalid_argument);
  options.stop = {"\xC3"};
  CHECK(code_of([&] { session.begin(options); }) == Code::invalid_argument);
  options.stop = std::vector<std::string>(17, "x");
  CHECK(code_of([&] { session.begin(options); }) == Code::invalid_argument);
}

TEST_CASE("max_tokens and the context bound an answer", "[api]") {
  const Runtime runtime = one_thread();
  ScriptedModel script;
  script.ids = bytes_of("abcdefgh");
  script.n_context = 6;
  const Model model = Model::scripted(runtime, script);
  Sampler greedy = Sampler::greedy();
  GenerateOptions options;
  options.max_tokens = 3;
  Session first(model);
  first.feed(bytes_of("q"));
  CHECK(first.generate(greedy, options) == "abc");
  Session second(model);
  second.feed(bytes_of("q"));
  second.begin({});
  TokenEvent last;
  std::string text;
  while (last.finish == Finish::none) {
    last = second.next(greedy);
    text += last.text;
  }
  CHECK(last.finish == Finish::context);
  CHECK(text == "abcde");
  CHECK(second.tokens().size() == 6);
  CHECK(code_of([&] { second.feed(bytes_of("x")); }) == Code::context_full);
  Session third(model);
  CHECK(code_of([&] { third.feed(bytes_of("1234567")); }) == Code::context_full);
  CHECK(third.tokens().empty());
}

TEST_CASE("log-probabilities are the softmax of the given logits", "[api]") {
  const Runtime runtime = one_thread();
  ScriptedModel script;
  script.logits.assign(1, std::vector<float>(258, -INFINITY));
  script.logits[0]['a'] = std::log(3.0f);
  script.logits[0]['b'] = std::log(1.0f);
  const Model model = Model::scripted(runtime, script);
  Session session(model);
  session.feed(bytes_of("q"));
  GenerateOptions options;
  options.top_logprobs = 2;
  session.begin(options);
  Sampler greedy = Sampler::greedy();
  const TokenEvent e = session.next(greedy);
  CHECK(e.id == 'a');
  CHECK(e.logprob == Approx(std::log(0.75)).epsilon(1e-6));
  REQUIRE(e.top.size() == 2);
  CHECK(e.top[1].id == 'b');
  CHECK(e.top[1].logprob == Approx(std::log(0.25)).epsilon(1e-6));
}

TEST_CASE("fork and truncate go on from where they stand", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "hello world");
  Session session(model);
  session.feed(bytes_of("q"));
  Sampler greedy = Sampler::greedy();
  GenerateOptions five;
  five.max_tokens = 5;
  CHECK(session.generate(greedy, five) == "hello");
  Session copy = session.fork();
  CHECK(copy.generate(greedy) == " world");
  CHECK(session.generate(greedy) == " world");
  session.truncate(1);
  session.truncate(0);
  session.feed(bytes_of("r"));
  CHECK(session.generate(greedy, five) == "hello");
  CHECK(code_of([&] { session.truncate(100); }) == Code::invalid_argument);
}

TEST_CASE("cancel from another thread ends the running call", "[api][concurrent]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, std::string(3000, 'x'));
  Session session(model);
  session.feed(bytes_of("q"));
  Sampler greedy = Sampler::greedy();
  std::thread other([&] { session.cancel(); });
  TokenEvent e;
  int64_t n = 0;
  try {
    for (; e.finish == Finish::none; ++n) e = session.next(greedy);
    CHECK((e.finish == Finish::cancelled || e.finish == Finish::end));
  } catch (const Error& error) {
    CHECK(error.code() == Code::cancelled);
  }
  other.join();
  CHECK(n <= 3002);
}

TEST_CASE("a cancelled feed leaves the session as it was", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "ok");
  SessionOptions options;
  options.prefill_chunk = 4;
  Session session(model, options);
  session.feed(bytes_of("begin"));
  const auto stop = [](int64_t done, int64_t) { return done < 8; };
  CHECK(code_of([&] { session.feed(bytes_of("0123456789abcdef"), stop); }) == Code::cancelled);
  CHECK(session.tokens().size() == 5);
  session.feed(bytes_of("!"));
  Sampler greedy = Sampler::greedy();
  CHECK(session.generate(greedy) == "ok");
}

TEST_CASE("numbers out of range are named", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "ok");
  CHECK(code_of([&] { Session(model, {-1, 512, 0}); }) == Code::invalid_argument);
  CHECK(code_of([&] { Session(model, {0, 0, 0}); }) == Code::invalid_argument);
  CHECK(code_of([&] { Session(model, {5000, 512, 0}); }) == Code::invalid_argument);
  Session session(model);
  CHECK(code_of([&] { session.feed(std::vector<TokenId>{999}); }) == Code::invalid_argument);
  Sampler greedy = Sampler::greedy();
  CHECK(code_of([&] { session.next(greedy); }) == Code::invalid_argument);
  CHECK(code_of([&] { session.logits(); }) == Code::invalid_argument);
  session.feed(bytes_of("q"));
  SamplerOptions biased;
  biased.logit_bias = {{258, 1.0f}};  // the vocabulary ends at 257
  Sampler beyond(biased);
  CHECK(code_of([&] { session.next(beyond); }) == Code::invalid_argument);
  biased.logit_bias = {{257, 1.0f}};
  Sampler within(biased);
  CHECK(session.next(within).id == 'o');
  RuntimeOptions threads;
  threads.threads = 1000;
  CHECK(code_of([&] { Runtime bad(threads); }) == Code::invalid_argument);
  RuntimeOptions kernel;
  kernel.kernel = "no such kernel";
  CHECK(code_of([&] { Runtime bad(kernel); }) == Code::invalid_argument);
}

TEST_CASE("logits that are NaN are an error, and the session lives on", "[api]") {
  const Runtime runtime = one_thread();
  ScriptedModel script;
  script.logits.assign(1, std::vector<float>(258, 0));
  script.logits[0][7] = NAN;
  const Model model = Model::scripted(runtime, script);
  Session session(model);
  CHECK(code_of([&] { session.feed(bytes_of("q")); }) == Code::numeric);
  CHECK(session.tokens().empty());
}
