// Sessions that decode together give what each gives alone, and fail alone.
#include <cmath>

#include "support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

std::vector<TokenId> prompt_of(int64_t seed, int64_t n) {
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<TokenId>((seed * 31 + i * 7) % 200 + 3));
  return ids;
}

struct Talk {
  Session session;
  Sampler sampler;
  std::vector<TokenId> ids;
  Finish finish = Finish::none;

  Talk(const Model& model, int64_t seed) : session(model), sampler(options(seed)) {
    session.feed(prompt_of(seed, 1 + seed * 5));
    GenerateOptions g;
    g.max_tokens = 4 + seed;
    g.ignore_end = true;
    session.begin(g);
  }
  static SamplerOptions options(int64_t seed) {
    SamplerOptions o;
    o.seed = static_cast<uint64_t>(seed);
    o.temperature = 0.9f;
    return o;
  }
  void take(const TokenEvent& e) {
    if (e.id >= 0) ids.push_back(e.id);
    finish = e.finish;
  }
};

}  // namespace

TEST_CASE("a batch gives each session what it gives alone", "[api]") {
  const Runtime runtime;
  const Model model = Model::load(runtime, tiny_model());
  std::vector<Talk> together, alone;
  for (int64_t i = 0; i < 5; ++i) together.emplace_back(model, i), alone.emplace_back(model, i);
  for (Talk& t : alone)
    while (t.finish == Finish::none) t.take(t.session.next(t.sampler));
  for (int round = 0;; ++round) {
    std::vector<Session*> sessions;
    std::vector<Sampler*> samplers;
    std::vector<Talk*> talks;
    for (size_t i = 0; i < together.size(); ++i) {  // in another order every time; some join late
      Talk& t = together[(i + static_cast<size_t>(round)) % together.size()];
      if (t.finish != Finish::none || (round < 2 && &t == &together[3])) continue;
      talks.push_back(&t);
      sessions.push_back(&t.session);
      samplers.push_back(&t.sampler);
    }
    if (talks.empty()) break;
    const auto outcomes = Batch::next(sessions, samplers);
    REQUIRE(outcomes.size() == talks.size());
    for (size_t i = 0; i < talks.size(); ++i) {
      REQUIRE(!outcomes[i].error);
      talks[i]->take(outcomes[i].event);
    }
  }
  for (size_t i = 0; i < alone.size(); ++i) {
    CHECK(together[i].ids == alone[i].ids);
    CHECK(together[i].finish == Finish::length);
    const auto a = alone[i].session.logits(), b = together[i].session.logits();
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

TEST_CASE("tokens fed together leave the logits that they leave alone", "[api]") {
  const Runtime runtime;
  const Model model = Model::load(runtime, tiny_model());
  Session a(model), b(model), alone(model);
  a.feed(prompt_of(1, 40));
  const std::vector<Session*> both = {&a, &b};
  const std::vector<TokenId> ids = {17, 5};
  for (const std::exception_ptr& e : Batch::feed(both, ids)) CHECK(!e);
  alone.feed(prompt_of(1, 40));
  alone.feed(std::vector<TokenId>{17});
  CHECK(std::equal(alone.logits().begin(), alone.logits().end(), a.logits().begin(), a.logits().end()));
  CHECK(a.tokens().size() == 41);
  CHECK(b.tokens().size() == 1);
}

TEST_CASE("a session of a batch fails alone", "[api]") {
  const Runtime runtime = one_thread();
  ScriptedModel script;
  std::vector<float> row(258, 0.0f);
  row[65] = 9;
  script.logits = {row, row, row};
  script.logits[1][7] = std::nanf("");
  const Model model = Model::scripted(runtime, script);
  Session bad(model), good(model), over(model);
  Sampler s0 = Sampler::greedy(), s1 = Sampler::greedy(), s2 = Sampler::greedy();
  bad.feed(bytes_of("q"));
  good.feed(bytes_of("q"));
  over.feed(bytes_of("q"));
  over.cancel();
  const std::vector<Session*> sessions = {&bad, &good, &over};
  const std::vector<Sampler*> samplers = {&s0, &s1, &s2};
  auto first = Batch::next(sessions, samplers);
  CHECK(first[0].event.id == 65);
  CHECK(first[1].event.id == 65);
  CHECK(first[2].event.finish == Finish::cancelled);
  const auto second = Batch::next(sessions, samplers);
  for (const auto& outcome : second) CHECK(outcome.error);  // NaN for the two, and an answer that has ended
  CHECK(code_of([&] { std::rethrow_exception(second[0].error); }) == Code::numeric);
  CHECK(code_of([&] { std::rethrow_exception(second[2].error); }) == Code::invalid_argument);
  good.truncate(1);
  good.feed(bytes_of("r"));
  CHECK(good.next(s1).id == 65);
}

TEST_CASE("a batch refuses what makes no sense, before it computes", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abc"), other = scripted(runtime, "abc");
  Session a(model), b(model), c(other);
  Sampler s = Sampler::greedy(), t = Sampler::greedy();
  for (Session* x : {&a, &b, &c}) x->feed(bytes_of("q"));
  const auto refuses = [](std::vector<Session*> sessions, std::vector<Sampler*> samplers) {
    return code_of([&] { Batch::next(sessions, samplers); }) == Code::invalid_argument;
  };
  CHECK(refuses({&a, &b}, {&s}));
  CHECK(refuses({&a, &a}, {&s, &t}));
  CHECK(refuses({&a, &b}, {&s, &s}));
  CHECK(refuses({&a, &c}, {&s, &t}));
  CHECK(refuses({&a, nullptr}, {&s, &t}));
  CHECK(Batch::next({}, {}).empty());
  ScriptedModel script;
  script.ids = bytes_of("abc");
  script.n_context = 2;
  const Model small = Model::scripted(runtime, script);
  Session full(small);
  full.feed(bytes_of("qa"));
  const std::vector<Session*> sessions = {&full};
  const std::vector<TokenId> ids = {98};
  CHECK(code_of([&] { Batch::feed(sessions, ids); }) == Code::context_full);
  CHECK(full.tokens().size() == 2);
}
