// A cancel takes effect at the next block of work: no further weight, chunk or token is begun.
#include <atomic>
#include <cstdlib>

#include "support.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

std::vector<TokenId> prompt(int n) {
  std::vector<TokenId> ids;
  for (int i = 0; i < n; ++i) ids.push_back(3 + i * 11 % 250);
  return ids;
}

// Counts the tokens that a session computes.
struct Count {
  int n = 0;
  explicit Count(Session& session) {
    session.tap(std::vector<int32_t>{kTapEmbedding}, [this](const TapRow&) { return ++n, true; });
  }
};

}  // namespace

TEST_CASE("a cancelled load packs no further weight", "[api]") {
  std::atomic<int64_t> live{0};
  RuntimeOptions o;
  o.threads = 2;
  o.allocator_user = &live;
  o.allocate = [](size_t n, size_t alignment, void* user) -> void* {
    *static_cast<std::atomic<int64_t>*>(user) += static_cast<int64_t>(n);
    return std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment);
  };
  o.release = [](void* p, size_t n, void* user) {
    *static_cast<std::atomic<int64_t>*>(user) -= static_cast<int64_t>(n);
    std::free(p);
  };
  const Runtime runtime(o);
  for (const char* backend : {"cpu", "ref"}) {
    CAPTURE(backend);
    ModelOptions options;
    options.backend = backend;
    int n_told = 0;
    options.progress = [&](float) { return ++n_told, true; };
    { const Model model = Model::load(runtime, tiny_model(), options); }
    const int all = n_told;
    CHECK(all >= 15);  // at least once for each of the matrices
    for (int at = 0; at < all; ++at) {
      n_told = 0;
      options.progress = [&](float) { return n_told++ < at; };
      CHECK(code_of([&] { Model::load(runtime, tiny_model(), options); }) == Code::cancelled);
      CHECK(n_told == at + 1);
      CHECK(live == 0);
    }
  }
}

TEST_CASE("a cancelled prefill begins no further chunk", "[api]") {
  const Model model = Model::load(one_thread(), tiny_model());
  for (int at = 0; at < 6; ++at) {
    Session session(model, {.prefill_chunk = 16});
    session.feed(prompt(5));
    const Count count(session);
    int chunks = 0;
    const auto feed = [&] {
      session.feed(prompt(100), [&](int64_t, int64_t) {
        if (chunks++ == at) session.cancel();  // as another thread would
        return true;
      });
    };
    CAPTURE(at);
    CHECK(code_of(feed) == Code::cancelled);
    CHECK(chunks == at + 1);
    CHECK(count.n == 16 * (at + 1));
    CHECK(session.tokens().size() == 5);
    chunks = 100;
    feed();  // the cancel is used up
    CHECK(session.tokens().size() == 105);
  }
}

TEST_CASE("a cancelled answer computes no further token", "[api]") {
  const Model model = Model::load(one_thread(), tiny_model());
  Session session(model);
  session.feed(prompt(5));
  const Count count(session);
  Sampler greedy = Sampler::greedy();
  session.begin({.ignore_end = true});
  for (int i = 0; i < 4; ++i) CHECK(session.next(greedy).finish == Finish::none);
  const int before = count.n;
  session.cancel();
  const TokenEvent event = session.next(greedy);
  CHECK(event.finish == Finish::cancelled);
  CHECK(event.id == -1);
  CHECK(count.n == before);
  CHECK(session.tokens().size() == 9);
}

TEST_CASE("a cancelled request of an engine gets no further step", "[api]") {
  const Model model = Model::load(one_thread(), tiny_model());
  EngineOptions options;
  options.own_thread = false;
  options.state_bytes = 4 << 20;
  options.prefill_chunk = options.least_chunk = 16;
  Engine engine(model, options);
  Request request;
  request.prompt = prompt(100);
  request.generate.ignore_end = true;
  for (const int n_steps : {1, 3, 9}) {
    const RequestId id = engine.submit(request);
    for (int i = 0; i < n_steps; ++i) engine.step();
    while (engine.next(0)) {
    }
    const int64_t before = engine.stats().steps;
    CHECK(engine.cancel(id));
    engine.step();
    CHECK(engine.stats().steps == before);  // there was nothing else to do
    const std::optional<EngineEvent> last = engine.next(0);
    REQUIRE(last);
    CHECK(last->event.finish == Finish::cancelled);
    CHECK_FALSE(engine.next(0));
  }
}
