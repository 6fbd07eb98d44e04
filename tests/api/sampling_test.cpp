// Guidance, logits of one's own, and what a vocabulary says to samplers.
#include <cmath>
#include <limits>

#include "api/support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr float kBan = -std::numeric_limits<float>::infinity();

std::vector<TokenId> ids_of(std::span<const TokenId> ids) { return {ids.begin(), ids.end()}; }

}  // namespace

TEST_CASE("guided logits equal their formula", "[api]") {
  const std::vector<float> own = {1.0f, -2.0f, kBan, 3e38f, 0.5f}, other = {0.5f, 1.0f, 9.0f, -3e38f, 0.5f};
  for (const float scale : {0.0f, 1.0f, 1.5f, 7.0f}) {
    const auto mixed = guided_logits(own, other, scale);
    for (const size_t i : {0u, 1u, 4u}) CHECK(mixed[i] == Approx(other[i] + scale * (own[i] - other[i])));
    CHECK(mixed[2] == kBan);
    CHECK(std::isfinite(mixed[3]));
  }
  CHECK(guided_logits(own, other, 1)[1] == -2.0f);
  CHECK(code_of([&] { guided_logits(own, std::vector<float>{1.0f}, 1); }) == Code::invalid_argument);
  CHECK(code_of([&] { guided_logits(std::vector<float>{1.0f}, std::vector<float>{kBan}, 1); }) ==
        Code::numeric);
  CHECK(code_of([&] { guided_logits(std::vector<float>{std::nanf("")}, std::vector<float>{1.0f}, 1); }) ==
        Code::numeric);
}

TEST_CASE("a guided answer is that of two sequences by hand", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  GenerateOptions g;
  g.ignore_end = true;
  for (const float scale : {0.0f, 1.0f, 3.0f}) {
    Session session(model), negative(model);
    session.feed_text("A happy story");
    negative.feed_text("A sad");
    session.begin(g);
    Sampler sampler({.seed = 4});
    std::vector<TokenId> ids;
    for (int i = 0; i < 10; ++i) ids.push_back(session.next_guided(sampler, negative, scale).id);

    Session a(model), b(model);
    a.feed_text("A happy story");
    b.feed_text("A sad");
    Sampler plain({.seed = 4});
    std::vector<TokenId> want;
    for (int i = 0; i < 10; ++i) {
      const auto own = a.logits(), other = b.logits();
      std::vector<float> mixed(own.size());
      for (size_t k = 0; k < own.size(); ++k)
        mixed[k] = static_cast<float>(other[k] +
                                      static_cast<double>(scale) * (static_cast<double>(own[k]) - other[k]));
      want.push_back(plain.sample(mixed));
      plain.accept(want.back());
      a.feed({&want.back(), 1});
      b.feed({&want.back(), 1});
    }
    CHECK(ids == want);
    CHECK(ids_of(negative.tokens()).size() == model.tokenizer().encode("A sad", {false, true}).size() + 10);
  }
}

TEST_CASE("guidance is refused where it cannot be", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdef");
  Session session(model), negative(model);
  Sampler greedy = Sampler::greedy();
  session.feed(bytes_of("q"));
  CHECK(code_of([&] { session.next_guided(greedy, negative, 2); }) ==
        Code::invalid_argument);  // nothing was fed
  negative.feed(bytes_of("n"));
  for (const float bad : {-0.1f, 101.0f, std::nanf("")})
    CHECK(code_of([&] { session.next_guided(greedy, negative, bad); }) == Code::invalid_argument);
  CHECK(code_of([&] { session.next_guided(greedy, session, 2); }) == Code::invalid_argument);
  Session full(model, {.context = 1});
  full.feed(bytes_of("n"));
  CHECK(code_of([&] { session.next_guided(greedy, full, 2); }) == Code::context_full);
  CHECK(session.tokens().size() == 1);  // nothing of it was added
  CHECK(session.next_guided(greedy, negative, 2).text == "a");
  GenerateOptions one;
  one.max_tokens = 0;
  session.begin(one);
  CHECK(session.next_guided(greedy, negative, 2).finish == Finish::length);
  CHECK(negative.tokens().size() == 2);
}

TEST_CASE("an event may be chosen from other logits, with the model's own log-probability", "[api]") {
  const Runtime runtime = one_thread();
  Session session(scripted(runtime, "abc"));
  session.feed_text("q");
  std::vector<float> logits(258, 0.0f);
  logits['z'] = 5;
  Sampler greedy = Sampler::greedy();
  const float own = top_logprobs(session.logits(), 258).back().logprob;
  const TokenEvent event = session.next(greedy, logits);
  CHECK(event.text == "z");
  CHECK(event.logprob == own);
  CHECK(code_of([&] { session.next(greedy, std::span(logits).first(5)); }) == Code::invalid_argument);
}

TEST_CASE("a vocabulary tells its ends and which tokens hold a text", "[api]") {
  const Runtime runtime = one_thread();
  const Tokenizer bytes = scripted(runtime, "x").tokenizer();
  CHECK(bytes.end_tokens() == std::vector<TokenId>{256});
  CHECK(bytes.tokens_with("a") == std::vector<TokenId>{'a'});
  CHECK(code_of([&] { bytes.tokens_with("ab"); }) == Code::not_found);
  CHECK(code_of([&] { bytes.tokens_with(""); }) == Code::invalid_argument);
  const Model model = Model::load(runtime, tiny_model());
  const auto spaces = model.tokenizer().tokens_with(" ");
  for (const TokenId id : spaces) CHECK(model.tokenizer().decode({&id, 1}).find(' ') != std::string::npos);
  CHECK(!spaces.empty());
}

TEST_CASE("min_tokens, bans and a host's stage in an answer", "[api]") {
  const Runtime runtime = one_thread();
  ScriptedModel script;
  for (int i = 0; i < 8; ++i) {
    script.logits.emplace_back(258, 0.0f);
    script.logits.back()[256] = 9;  // wants to end
    script.logits.back()['x'] = 5;
    script.logits.back()['y'] = 4;
  }
  const Model model = Model::scripted(runtime, script);
  SamplerOptions o;
  o.temperature = 0;
  o.min_tokens = 3;
  o.end_tokens = model.tokenizer().end_tokens();
  o.banned_tokens = model.tokenizer().tokens_with("x");
  o.custom = {
      {"shout", [](std::span<const TokenId> accepted, std::span<const TokenId> ids, std::span<float> logits) {
         for (size_t i = 0; i < ids.size(); ++i)
           if (ids[i] == '!' && accepted.size() == 1) logits[i] += 7;
       }}};
  Sampler sampler(o);
  CHECK(sampler.describe() == "banned_tokens > min_tokens > shout > greedy");
  Session session(model);
  session.feed_text("q");
  CHECK(session.generate(sampler) == "y!y");
}

TEST_CASE("a stop string first, with log-probabilities, gives an empty answer", "[api]") {
  const Runtime runtime = one_thread();
  Session session(scripted(runtime, "\nmore"));
  session.feed_text("q");
  GenerateOptions g;
  g.stop = {"\n"};
  g.top_logprobs = 10;
  session.begin(g);
  Sampler greedy = Sampler::greedy();
  const TokenEvent event = session.next(greedy);
  CHECK(event.text.empty());
  CHECK(event.finish == Finish::stop);
  CHECK(event.top.size() == 10);
  CHECK(event.top[0].id == event.id);
  CHECK(event.top[0].logprob == event.logprob);
}
