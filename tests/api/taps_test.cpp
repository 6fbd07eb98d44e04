// Taps: what a session computes can be looked at, and looking changes nothing.
#include <algorithm>
#include <map>

#include "support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

struct Heard {
  int32_t point;
  int64_t position;
  TokenId token;
  std::vector<float> values;
};

struct Ear {
  std::vector<Heard> rows;
  Session::Tap hear() {
    return [this](const TapRow& r) {
      rows.push_back({r.point, r.position, r.token, {r.values.begin(), r.values.end()}});
      return true;
    };
  }
  std::vector<float> at(int32_t point, int64_t position) const {
    for (const Heard& h : rows)
      if (h.point == point && h.position == position) return h.values;
    return {};
  }
};

struct Fixture {
  Runtime runtime = one_thread();
  Model model = Model::load(runtime, tiny_model());
  std::vector<int32_t> all() const {
    std::vector<int32_t> points{kTapLogits, kTapFinalNorm};  // any order will do, and any number of times
    for (auto i = static_cast<int32_t>(model.info().n_layers); i-- > 0;) points.push_back(i);
    points.push_back(kTapEmbedding);
    points.push_back(0);
    return points;
  }
};

std::vector<TokenId> prompt(int n) {
  std::vector<TokenId> ids;
  for (int i = 0; i < n; ++i) ids.push_back(3 + i * 7 % 250);
  return ids;
}

std::vector<TokenId> greedy(Session& session, int n) {
  Sampler sampler = Sampler::greedy();
  session.begin({.ignore_end = true});
  std::vector<TokenId> ids;
  while (static_cast<int>(ids.size()) < n) ids.push_back(session.next(sampler).id);
  return ids;
}

}  // namespace

TEST_CASE("taps tell every token in order, and change no bit", "[api]") {
  const Fixture f;
  const auto n_layers = static_cast<int32_t>(f.model.info().n_layers);
  Session plain(f.model), tapped(f.model, {.prefill_chunk = 100});
  Ear ear;
  tapped.tap(f.all(), ear.hear());
  const std::vector<TokenId> ids = prompt(110);
  plain.feed(ids);
  tapped.feed(ids);
  CHECK(greedy(plain, 6) == greedy(tapped, 6));
  const std::span<const float> a = plain.logits(), b = tapped.logits();
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));

  std::vector<int32_t> order{kTapEmbedding};
  for (int32_t i = 0; i < n_layers; ++i) order.push_back(i);
  order.insert(order.end(), {kTapFinalNorm, kTapLogits});
  REQUIRE(ear.rows.size() == 116 * order.size());
  for (size_t i = 0; i < ear.rows.size(); ++i) {
    const Heard& h = ear.rows[i];
    CHECK(h.point == order[i % order.size()]);
    CHECK(h.position == static_cast<int64_t>(i / order.size()));
    CHECK(h.token == tapped.tokens()[i / order.size()]);
    CHECK(h.values.size() ==
          static_cast<size_t>(h.point == kTapLogits ? f.model.info().n_vocab : f.model.info().n_embedding));
  }
  CHECK(std::equal(b.begin(), b.end(), ear.rows.back().values.begin()));
}

TEST_CASE("what taps tell depends on neither chunks nor threads", "[api]") {
  const Fixture f;
  Runtime threads(RuntimeOptions{.threads = 3});
  const Model same = Model::load(threads, tiny_model());
  std::vector<Ear> ears(3);
  Session whole(f.model), chunks(f.model, {.prefill_chunk = 7}), threaded(same);
  const std::vector<TokenId> ids = prompt(90);
  Session* sessions[] = {&whole, &chunks, &threaded};
  for (size_t i = 0; i < ears.size(); ++i) {
    sessions[i]->tap(f.all(), ears[i].hear());
    sessions[i]->feed(ids);
  }
  REQUIRE(!ears[0].rows.empty());
  for (size_t i = 1; i < ears.size(); ++i) {
    REQUIRE(ears[i].rows.size() == ears[0].rows.size());
    for (size_t r = 0; r < ears[0].rows.size(); ++r) CHECK(ears[i].rows[r].values == ears[0].rows[r].values);
  }
  // The logits are those of score().
  Session scored(f.model);
  scored.score(ids, [&](int64_t position, std::span<const float> row) {
    const std::vector<float> told = ears[0].at(kTapLogits, position);
    CHECK(std::equal(row.begin(), row.end(), told.begin(), told.end()));
  });
}

TEST_CASE("a tap's false cancels the call, which leaves no trace", "[api]") {
  const Fixture f;
  Session session(f.model);
  session.feed(prompt(5));
  int heard = 0;
  session.tap(std::vector<int32_t>{0, kTapLogits},
              [&](const TapRow& row) { return ++heard, row.position < 80; });
  CHECK(code_of([&] { session.feed(prompt(100)); }) == Code::cancelled);
  CHECK(heard == 2 * 75 + 1);
  CHECK(session.tokens().size() == 5);
  session.feed(prompt(10));
  CHECK(session.tokens().size() == 15);
  heard = 0;
  session.tap({}, {});
  session.feed(prompt(10));
  CHECK(heard == 0);
  Session fresh(f.model);
  for (const int n : {5, 10, 10}) fresh.feed(prompt(n));
  CHECK(std::equal(fresh.logits().begin(), fresh.logits().end(), session.logits().begin()));
}

TEST_CASE("forks and beams are not tapped; a token that is computed again is told again", "[api]") {
  const Fixture f;
  Session session(f.model);
  Ear ear;
  session.tap(std::vector<int32_t>{1}, ear.hear());
  session.feed(prompt(8));
  CHECK(ear.rows.size() == 8);
  Session fork = session.fork();
  fork.feed(prompt(3));
  BeamOptions beams;
  beams.max_tokens = 3;
  beam_search(session, beams);
  CHECK(ear.rows.size() == 8);
  session.truncate(6);
  session.feed(std::vector<TokenId>{prompt(8)[6], prompt(8)[7]});
  REQUIRE(ear.rows.size() == 10);
  CHECK(ear.rows[8].position == 6);
  CHECK(ear.rows[8].values == ear.rows[6].values);
  CHECK(ear.rows[9].values == ear.rows[7].values);
}

TEST_CASE("a session with taps goes on in a batch, by itself", "[api]") {
  const Fixture f;
  Session tapped(f.model), other(f.model), alone(f.model);
  Ear ear;
  tapped.tap(std::vector<int32_t>{kTapLogits}, ear.hear());
  for (Session* s : {&tapped, &other, &alone}) s->feed(prompt(9));
  Sampler samplers[] = {Sampler::greedy(), Sampler::greedy()};
  Session* sessions[] = {&tapped, &other};
  Sampler* choosers[] = {&samplers[0], &samplers[1]};
  std::vector<TokenId> ids;
  for (int i = 0; i < 4; ++i) {
    const std::vector<Batch::Outcome> told = Batch::next(sessions, choosers);
    REQUIRE(!told[0].error);
    REQUIRE(!told[1].error);
    CHECK(told[0].event.id == told[1].event.id);
    ids.push_back(told[0].event.id);
  }
  CHECK(ids == greedy(alone, 4));
  CHECK(ear.rows.size() == 9 + 3);  // the last token is computed when the next is asked for
  const TokenId tokens[] = {4, 5};
  CHECK(code_of([&] { Batch::feed(sessions, tokens); }) == Code::unsupported);
}

TEST_CASE("taps that cannot be are refused by name", "[api]") {
  const Fixture f;
  Session session(f.model);
  const auto hear = [](const TapRow&) { return true; };
  const auto refused = [&](Session& s, int32_t point) {
    return code_of([&] { s.tap(std::vector<int32_t>{point}, hear); });
  };
  CHECK(refused(session, static_cast<int32_t>(f.model.info().n_layers)) == Code::invalid_argument);
  CHECK(refused(session, -4) == Code::invalid_argument);
  CHECK(code_of([&] { session.tap(std::vector<int32_t>{0}, {}); }) == Code::invalid_argument);
  const Model plain = scripted(f.runtime, "yes");
  Session script(plain);
  CHECK(refused(script, 0) == Code::unsupported);
  CHECK(refused(script, kTapFinalNorm) == Code::unsupported);
  CHECK(refused(script, kTapLogits) == Code::ok);
  Session nothing(Model::load(f.runtime, tiny_model(), {.backend = "null"}));
  CHECK(refused(nothing, kTapEmbedding) == Code::unsupported);
  CHECK(refused(nothing, kTapLogits) == Code::ok);
}
