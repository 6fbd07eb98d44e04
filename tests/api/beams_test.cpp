// Beam search against its definition, written plainly: every beam is computed from its whole text, every
// candidate of the vocabulary is looked at.
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "api/support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

constexpr int32_t kVocab = 258, kEnd = 256;

// Rows in which the end is often near the best. Off the script it starts over, so what follows depends on the
// path.
Model lively_model(const Runtime& runtime, uint32_t seed, int64_t n_context = 4096) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 2);
  ScriptedModel script;
  script.n_context = n_context;
  for (int i = 0; i < 12; ++i) {
    std::vector<float>& row = script.logits.emplace_back(kVocab);
    for (float& x : row) x = std::round(4 * normal(random)) / 4;  // with ties
    row[kEnd] = 3.0f + normal(random);
    if (i == 3) row[7] = -std::numeric_limits<float>::infinity();
  }
  return Model::scripted(runtime, script);
}

struct Hypothesis {
  std::vector<TokenId> ids;
  double sum = 0;
};
struct Ended {
  std::vector<TokenId> ids;
  double score = 0;
};

struct Reference {
  const Model& model;
  std::vector<TokenId> prompt;
  BeamOptions o;

  std::vector<double> log_probs(const std::vector<TokenId>& ids) const {
    Session session(model);
    session.feed(prompt);
    session.feed(ids);
    std::vector<double> out(kVocab, -std::numeric_limits<double>::infinity());
    for (const TokenLogprob& t : top_logprobs(session.logits(), kVocab))
      out[static_cast<size_t>(t.id)] = t.logprob;
    return out;
  }

  double score(double sum, size_t length) const {
    return sum / std::pow(static_cast<double>(length), o.length_penalty);
  }

  std::vector<Ended> run() const {
    const auto size = static_cast<size_t>(o.beams / o.groups);
    const auto n_groups = static_cast<size_t>(o.groups);
    std::vector<std::vector<Hypothesis>> running(n_groups, {Hypothesis{}});
    std::vector<std::vector<Ended>> ended(n_groups);
    std::vector<bool> done(n_groups);
    const auto add = [&](size_t g, std::vector<TokenId> ids, double sum) {
      ended[g].push_back({ids, score(sum, ids.size())});
      std::stable_sort(ended[g].begin(), ended[g].end(), [](auto& a, auto& b) { return a.score > b.score; });
      if (ended[g].size() > size) ended[g].pop_back();
    };
    for (size_t length = 1; length <= static_cast<size_t>(o.max_tokens); ++length) {
      std::map<TokenId, int> taken;
      for (size_t g = 0; g < n_groups; ++g) {
        if (done[g]) continue;
        struct Candidate {
          double sum;
          size_t beam;
          TokenId id;
        };
        std::vector<Candidate> all;
        for (size_t b = 0; b < running[g].size(); ++b) {
          const std::vector<double> p = log_probs(running[g][b].ids);
          for (TokenId id = 0; id < kVocab; ++id)
            if (std::isfinite(p[static_cast<size_t>(id)]))
              all.push_back({running[g][b].sum +
                                 (p[static_cast<size_t>(id)] - static_cast<double>(o.diversity) * taken[id]),
                             b, id});
        }
        std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.sum > b.sum; });
        all.resize(std::min(all.size(), 2 * size));
        std::vector<Hypothesis> next;
        for (size_t rank = 0; rank < all.size() && next.size() < size; ++rank) {
          std::vector<TokenId> ids = running[g][all[rank].beam].ids;
          ids.push_back(all[rank].id);
          if (all[rank].id != kEnd || o.ignore_end)
            next.push_back({ids, all[rank].sum});
          else if (rank < size)
            add(g, ids, all[rank].sum);
        }
        running[g] = next;
        if (ended[g].size() >= size) {
          const auto most = static_cast<size_t>(o.max_tokens);
          const bool far = o.early_stopping == EarlyStopping::never && o.length_penalty > 0;
          const double best = score(all[0].sum, far ? most : length);
          done[g] = o.early_stopping == EarlyStopping::yes || ended[g].back().score >= best;
        }
        if (!done[g])
          for (const Hypothesis& h : next) ++taken[h.ids.back()];
      }
      if (std::count(done.begin(), done.end(), false) == 0) break;
    }
    std::vector<Ended> out;
    for (size_t g = 0; g < n_groups; ++g) {
      if (!done[g])
        for (const Hypothesis& h : running[g]) add(g, h.ids, h.sum);
      out.insert(out.end(), ended[g].begin(), ended[g].end());
    }
    std::stable_sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.score > b.score; });
    return out;
  }
};

std::string where_refused(BeamOptions o) {
  const Runtime runtime = one_thread();
  Session session(scripted(runtime, "abc"));
  session.feed_text("q");
  try {
    beam_search(session, o);
  } catch (const Error& e) {
    CHECK(e.code() == Code::invalid_argument);
    return e.where();
  }
  return "";
}

}  // namespace

TEST_CASE("beam search equals its definition", "[api]") {
  const Runtime runtime = one_thread();
  int ended = 0, cut = 0;
  for (uint32_t seed = 0; seed < 24; ++seed) {
    const Model model = lively_model(runtime, seed);
    BeamOptions o;
    o.beams = seed % 4 == 0 ? 1 : seed % 4 == 1 ? 3 : 4;
    o.groups = seed % 4 >= 2 ? 1 << (seed % 3) : 1;
    o.diversity = o.groups > 1 ? 0.7f : 0.0f;
    o.length_penalty = std::vector<float>{1, 0, 2, -0.5f}[seed / 4 % 4];
    o.early_stopping = static_cast<EarlyStopping>(seed % 3);
    o.max_tokens = seed % 5 == 0 ? 1 : 9;
    o.results = o.beams;
    o.ignore_end = seed == 17;
    CAPTURE(seed);
    Session session(model);
    session.feed_text("prompt");
    const std::vector<Beam> got = beam_search(session, o);
    const std::vector<Ended> want =
        Reference{model, {session.tokens().begin(), session.tokens().end()}, o}.run();
    REQUIRE(got.size() == std::min(want.size(), static_cast<size_t>(o.results)));
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].ids == want[i].ids);
      CHECK(got[i].score == Approx(want[i].score));
      const bool at_end = !o.ignore_end && got[i].ids.back() == kEnd;
      CHECK(got[i].finish == (at_end ? Finish::end : Finish::length));
      (at_end ? ended : cut) += 1;
    }
  }
  CHECK(ended > 10);  // both kinds were seen
  CHECK(cut > 10);
}

TEST_CASE("one beam is greedy, and the session stays as it is", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  Session session(model);
  session.feed_text("Hello");
  Sampler greedy = Sampler::greedy();
  session.next(greedy);  // something is pending
  const std::vector<TokenId> before(session.tokens().begin(), session.tokens().end());
  BeamOptions o;
  o.beams = 1;
  o.max_tokens = 12;
  o.ignore_end = true;
  const std::vector<Beam> beams = beam_search(session, o);
  CHECK(std::vector<TokenId>(session.tokens().begin(), session.tokens().end()) == before);
  GenerateOptions g;
  g.ignore_end = true;
  session.begin(g);
  std::vector<TokenId> ids;
  std::string text;
  double sum = 0;
  for (int i = 0; i < 12; ++i) {
    const TokenEvent event = session.next(greedy);
    ids.push_back(event.id);
    sum += event.logprob;
  }
  REQUIRE(beams.size() == 1);
  CHECK(beams[0].ids == ids);
  CHECK(beams[0].score == Approx(sum / 12));
  CHECK(beams[0].finish == Finish::length);
  CHECK(beam_search(session, o)[0].ids.size() == 12);
}

TEST_CASE("beams go on from what an answer that looks ahead has told", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  GenerateOptions looks_ahead;
  SECTION("tokens without a choice") {
    looks_ahead.jump_ahead = true;
    looks_ahead.grammar = Grammar::gbnf(R"(root ::= "the quick brown fox jumps over the lazy dog" [0-9])");
  }
  SECTION("banned phrases") {
    Session probe(model);
    probe.feed_text("Hello");
    Sampler greedy = Sampler::greedy();
    looks_ahead.ignore_end = true;
    looks_ahead.max_tokens = 24;
    looks_ahead.banned_phrases = {probe.generate(greedy, looks_ahead) + "never"};  // holds all of it back
    looks_ahead.max_tokens = -1;
  }
  Session session(model);
  session.feed_text("Hello");
  session.begin(looks_ahead);
  Sampler greedy = Sampler::greedy();
  session.next(greedy);
  session.next(greedy);
  const std::vector<TokenId> told(session.tokens().begin(), session.tokens().end());
  Session fresh(model);
  fresh.feed(told);
  BeamOptions o;
  o.beams = 3;
  o.results = 3;
  o.max_tokens = 5;
  const std::vector<Beam> got = beam_search(session, o), expected = beam_search(fresh, o);
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i].ids == expected[i].ids);
    CHECK(got[i].score == expected[i].score);
  }
  CHECK(std::vector<TokenId>(session.tokens().begin(), session.tokens().end()) == told);
}

TEST_CASE("more beams find what is at least as likely, on a real model", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  Session session(model);
  session.feed_text("Once upon");
  double best = -1e300;
  for (const int32_t n : {1, 4, 8}) {
    BeamOptions o;
    o.beams = o.results = n;
    o.max_tokens = 6;
    o.ignore_end = true;
    const auto beams = beam_search(session, o);
    REQUIRE(beams.size() == static_cast<size_t>(n));
    for (size_t i = 1; i < beams.size(); ++i) CHECK(beams[i - 1].score >= beams[i].score);
    CHECK(beams[0].score >= best);
    best = beams[0].score;
    Session check(model);  // the score is what the model says of these ids
    check.feed_text("Once upon");
    double sum = 0;
    for (const TokenId id : beams.back().ids) {
      for (const TokenLogprob& t : top_logprobs(check.logits(), static_cast<int32_t>(model.info().n_vocab)))
        if (t.id == id) sum += t.logprob;
      check.feed({&id, 1});
    }
    CHECK(beams.back().score == Approx(sum / 6));
  }
}

TEST_CASE("beams end with the context, and refuse none", "[api]") {
  const Runtime runtime = one_thread();
  Session session(lively_model(runtime, 3, 12));
  session.feed(bytes_of("12345678"));
  BeamOptions o;
  o.ignore_end = true;
  const auto beams = beam_search(session, o);
  CHECK(beams[0].ids.size() == 4);
  CHECK(beams[0].finish == Finish::context);
  session.feed(bytes_of("1234"));
  CHECK(code_of([&] { beam_search(session, o); }) == Code::context_full);
  Session empty(lively_model(runtime, 3));
  CHECK(code_of([&] { beam_search(empty, o); }) == Code::invalid_argument);
}

TEST_CASE("a cancel ends a beam search once", "[api]") {
  const Runtime runtime = one_thread();
  Session session(lively_model(runtime, 3));
  session.feed_text("x");
  session.cancel();
  CHECK(code_of([&] { beam_search(session); }) == Code::cancelled);
  CHECK(beam_search(session).size() == 1);
}

TEST_CASE("options of beams are checked", "[api]") {
  const float nan = std::nanf("");
  CHECK(where_refused({.beams = 0}) == "option beams");
  CHECK(where_refused({.beams = 65}) == "option beams");
  CHECK(where_refused({.groups = 0}) == "option groups");
  CHECK(where_refused({.groups = 5}) == "option groups");
  CHECK(where_refused({.beams = 4, .groups = 3}) == "option groups");
  CHECK(where_refused({.diversity = -1}) == "option diversity");
  CHECK(where_refused({.diversity = nan}) == "option diversity");
  CHECK(where_refused({.length_penalty = 101}) == "option length_penalty");
  CHECK(where_refused({.length_penalty = nan}) == "option length_penalty");
  CHECK(where_refused({.early_stopping = static_cast<EarlyStopping>(3)}) == "option early_stopping");
  CHECK(where_refused({.max_tokens = 0}) == "option max_tokens");
  CHECK(where_refused({.results = 5}) == "option results");
  CHECK(where_refused({}) == "");
}
