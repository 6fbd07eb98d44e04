// An engine's requests: what they give, how they end, what it refuses. What the answers are is known.
#include "ingle/engine.hpp"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <map>
#include <thread>

#include "api/engine_impl.h"
#include "core/random.h"
#include "support.h"
#include "support/errors.h"
#include "support/temp.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

EngineOptions by_hand() {
  EngineOptions o;
  o.own_thread = false;
  o.state_bytes = 1 << 24;
  return o;
}

Request ask(const std::string& prompt, int64_t max_tokens = -1) {
  Request r;
  r.prompt = prompt;
  r.encode.add_special = false;
  r.sampler.temperature = 0;
  r.generate.max_tokens = max_tokens;
  return r;
}

struct Told {
  std::string text;
  Finish finish = Finish::none;
  std::shared_ptr<const Error> error;
  std::vector<TokenId> ids;
  int events = 0, late = 0;  // late: told after the end, which must not be
};

// Checks nothing itself: Catch2 takes checks from one thread at a time.
void take(std::map<RequestId, Told>& all, const EngineEvent& e) {
  Told& t = all[e.request];
  t.late += t.finish != Finish::none;
  t.text += e.event.text;
  t.finish = e.event.finish;
  t.error = e.error;
  if (e.event.id >= 0) t.ids.push_back(e.event.id);
  ++t.events;
}

std::map<RequestId, Told> run(Engine& engine) {
  std::map<RequestId, Told> all;
  while (engine.step()) {
  }
  while (const auto e = engine.next()) take(all, *e);
  for (const auto& [id, told] : all) CHECK(told.late == 0);
  return all;
}

}  // namespace

TEST_CASE("requests get their answers", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "Grüße!", "{{ messages[0].content }}");
  Engine engine(model, by_hand());
  const RequestId text = engine.submit(ask("hi"));
  Request r = ask("");
  r.prompt = bytes_of("hello");
  const RequestId ids = engine.submit(r);
  r.prompt = std::vector<Message>{{"user", "hello"}};
  const RequestId messages = engine.submit(r);
  const RequestId cut = engine.submit(ask("hi", 2));
  const RequestId none = engine.submit(ask("hi", 0));
  r = ask("hi");
  r.generate.stop = {"ß"};
  const RequestId stopped = engine.submit(r);
  auto all = run(engine);
  REQUIRE(all.size() == 6);
  for (const RequestId id : {text, ids, messages}) {
    CHECK(all[id].text == "Grüße!");
    CHECK(all[id].finish == Finish::end);
    CHECK(all[id].ids.size() == 9);
  }
  CHECK(all[cut].text == "Gr");
  CHECK(all[cut].finish == Finish::length);
  CHECK(all[none].ids.empty());
  CHECK(all[none].finish == Finish::length);
  CHECK(all[stopped].text == "Grü");
  CHECK(all[stopped].finish == Finish::stop);
  CHECK(!engine.step());
  CHECK(!engine.next());
}

TEST_CASE("what makes no sense is refused at once", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "yes");
  EngineOptions o = by_hand();
  o.context = 10;
  Engine engine(model, o);
  const auto refused = [&](auto change) {
    Request r = ask("hi");
    change(r);
    return error_of([&] { engine.submit(r); });
  };
  CHECK(refused([](auto& r) { r.prompt = std::string(); }).where() == "prompt");
  CHECK(refused([](auto& r) { r.prompt = std::vector<TokenId>{1, 258}; }).code() == Code::invalid_argument);
  CHECK(refused([](auto& r) { r.prompt = std::string(11, 'x'); }).code() == Code::context_full);
  CHECK(refused([](auto& r) { r.prompt = std::vector<Message>{{"user", "x"}}; }).code() == Code::unsupported);
  CHECK(refused([](auto& r) { r.band = 4; }).where() == "band");
  CHECK(refused([](auto& r) { r.deadline_s = -1; }).where() == "deadline");
  CHECK(refused([](auto& r) { r.generate.stop = {""}; }).where() == "option stop");
  CHECK(refused([](auto& r) { r.sampler.top_p = 2; }).code() == Code::invalid_argument);
  CHECK(engine.stats().submitted == 0);
  CHECK(!engine.cancel(1));

  const auto bad = [&](auto change) {
    EngineOptions e = by_hand();
    change(e);
    return error_of([&] { Engine x(model, e); }).where();
  };
  CHECK(bad([](auto& e) { e.max_running = 0; }) == "option max_running");
  CHECK(bad([](auto& e) { e.max_queued = 0; }) == "option max_queued");
  CHECK(bad([](auto& e) { e.context = 1 << 20; }) == "option context");
  CHECK(bad([](auto& e) { e.target_ms = 0; }) == "option target_ms");
  CHECK(bad([](auto& e) { e.prefill_chunk = 0; }) == "option prefill_chunk");
  CHECK(bad([](auto& e) { e.least_chunk = 600; }) == "option least_chunk");
  CHECK(bad([](auto& e) { e.band_share = 1; }) == "option band_share");
}

TEST_CASE("a prompt as long as the context gets a context's end", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "yes");
  EngineOptions o = by_hand();
  o.context = 4;
  Engine engine(model, o);
  const RequestId full = engine.submit(ask("1234")), almost = engine.submit(ask("12"));
  auto all = run(engine);
  CHECK(all[full].finish == Finish::context);
  CHECK(all[almost].finish == Finish::context);
  CHECK(all[almost].text == "ye");
}

TEST_CASE("a queue is bounded, and says when to come again", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "yes");
  EngineOptions o = by_hand();
  o.max_queued = 3;
  o.max_queued_tokens = 100;
  Engine engine(model, o);
  engine.submit(ask(std::string(80, 'a')));
  Error e = error_of([&] { engine.submit(ask(std::string(30, 'a'))); });
  CHECK(e.code() == Code::busy);
  CHECK(contains(e.message(), "80 prompt tokens"));
  engine.submit(ask("b"));
  engine.submit(ask("b"));
  e = error_of([&] { engine.submit(ask("b")); });
  CHECK(e.code() == Code::busy);
  CHECK(contains(e.message(), "3 requests"));
  CHECK(contains(e.hint(), "seconds"));
  CHECK(engine.stats().refused == 2);
  CHECK(run(engine).size() == 3);
  engine.submit(ask("b"));
  CHECK(run(engine).size() == 1);
}

TEST_CASE("what the budget can never hold is refused", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "yes");
  EngineOptions o = by_hand();
  o.state_bytes = 2 * 256;  // two pages of 32 tokens, of 8 bytes each
  Engine engine(model, o);
  CHECK(error_of([&] { engine.submit(ask(std::string(64, 'a'))); }).code() == Code::out_of_memory);
  const RequestId fits = engine.submit(ask(std::string(60, 'a')));
  CHECK(run(engine)[fits].text == "yes");
  o.no_evict = true;
  Engine careful(model, o);
  CHECK(error_of([&] { careful.submit(ask(std::string(30, 'a'), 35)); }).code() == Code::out_of_memory);
  CHECK(careful.submit(ask(std::string(30, 'a'), 34)) == 1);
}

TEST_CASE("a request that outgrows the budget fails alone", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, std::string(200, 'y'));
  EngineOptions o = by_hand();
  o.state_bytes = 3 * 256;
  Engine engine(model, o);
  const RequestId grows = engine.submit(ask("a")), is_short = engine.submit(ask("b", 20));
  auto all = run(engine);
  CHECK(all[grows].finish == Finish::error);
  REQUIRE(all[grows].error);
  CHECK(all[grows].error->code() == Code::out_of_memory);
  CHECK(all[is_short].text == std::string(20, 'y'));
  CHECK(bytes_of_requests(engine.stats()) == 0);
}

TEST_CASE("cancels and deadlines end a request within a step", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdefgh");
  EngineOptions o = by_hand();
  double now = 0;
  EngineHooks hooks;
  hooks.clock = [&] { return now; };
  Engine::Impl engine(model, o, hooks);
  Request r = ask("x");
  const RequestId first = engine.submit(r), other = engine.submit(r);
  r.deadline_s = 5;
  const RequestId late = engine.submit(r);
  r.prompt = std::string(3000, 'p');
  const RequestId in_prefill = engine.submit(r);
  std::map<RequestId, Told> all;
  const auto pull = [&] {
    while (const auto e = engine.next(0)) take(all, *e);
  };
  engine.step(0), engine.step(0);
  CHECK(engine.cancel(first));
  CHECK(engine.cancel(in_prefill));
  engine.step(0);
  pull();
  CHECK(all[first].finish == Finish::cancelled);
  CHECK(all[first].text == "ab");
  CHECK(all[in_prefill].finish == Finish::cancelled);
  CHECK(!engine.cancel(first));
  now = 6;
  engine.step(0);
  pull();
  CHECK(all[late].finish == Finish::deadline);
  while (engine.step(0)) {
  }
  pull();
  CHECK(all[other].text == "abcdefgh");
  CHECK(engine.stats().finished[static_cast<size_t>(Finish::deadline)] == 1);
  CHECK(bytes_of_requests(engine.stats()) == 0);
}

TEST_CASE("logits that are no numbers end their own request", "[api]") {
  const Runtime runtime = one_thread();
  ScriptedModel script;
  script.logits.assign(3, std::vector<float>(258, 0.0f));
  script.logits[0]['a'] = 9;
  script.logits[1]['b'] = 9;
  script.logits[2]['c'] = NAN;
  const Model model = Model::scripted(runtime, script);
  Engine engine(model, by_hand());
  const RequestId fails = engine.submit(ask("x"));
  const RequestId ends = engine.submit(ask("y", 2));
  auto all = run(engine);
  CHECK(all[fails].text == "ab");
  CHECK(all[fails].finish == Finish::error);
  REQUIRE(all[fails].error);
  CHECK(all[fails].error->code() == Code::numeric);
  CHECK(all[ends].text == "ab");
  CHECK(all[ends].finish == Finish::length);
  CHECK(engine.stats().finished[static_cast<size_t>(Finish::error)] == 1);
}

TEST_CASE("a sampler that throws ends its own request", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abc");
  Engine engine(model, by_hand());
  Request r = ask("x");
  r.sampler.custom.push_back({"mine", [](auto accepted, auto, auto) {
                                if (accepted.size() == 1)
                                  throw Error(Code::invalid_argument, "mine", "had enough");
                              }});
  const RequestId fails = engine.submit(r), ends = engine.submit(ask("y"));
  auto all = run(engine);
  CHECK(all[fails].text == "a");
  REQUIRE(all[fails].error);
  CHECK(all[fails].error->where() == "mine");
  CHECK(all[ends].text == "abc");
}

TEST_CASE("a grammar holds an engine's answer too", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "yes");
  Engine engine(model, by_hand());
  Request r = ask("x");
  r.generate.grammar = Grammar::regex("[0-9]{3}");
  const RequestId id = engine.submit(r), plain = engine.submit(ask("x"));
  auto all = run(engine);
  CHECK(all[id].text.size() == 3);
  CHECK(all[id].text.find_first_not_of("0123456789") == std::string::npos);
  CHECK(all[id].finish == Finish::end);
  CHECK(all[plain].text == "yes");
}

TEST_CASE("prompts that begin alike are computed once", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, std::string(50, 'y'));
  const std::string common(2000, 'c');
  for (const bool share : {true, false}) {
    EngineOptions o = by_hand();
    o.share_prefixes = share;
    Engine engine(model, o);
    std::vector<RequestId> ids;
    for (int i = 0; i < 32; ++i) ids.push_back(engine.submit(ask(common + std::to_string(i))));
    auto all = run(engine);
    for (const RequestId id : ids) CHECK(all[id].text == std::string(50, 'y'));
    const EngineStats s = engine.stats();
    CHECK(s.prompt_tokens >= 32 * 2001);
    if (share)
      CHECK(s.cached_tokens >= 31 * 2000);  // all that could be
    else
      CHECK(s.cached_tokens == 0);
  }
}

TEST_CASE("what was computed earlier is found again, and goes when memory is needed", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, std::string(50, 'y'));
  EngineOptions o = by_hand();
  o.state_bytes = 20 * 256;  // 640 tokens
  Engine engine(model, o);
  const auto cached_by = [&](const std::string& prompt) {
    const int64_t before = engine.stats().cached_tokens;
    const RequestId id = engine.submit(ask(prompt, 40));
    CHECK(run(engine)[id].text == std::string(40, 'y'));
    return engine.stats().cached_tokens - before;
  };
  const std::string first(200, 'a');
  CHECK(cached_by(first) == 0);
  CHECK(cached_by(first) == 199);
  // A next turn has the answer too, all but the last token, which nobody computed.
  CHECK(cached_by(first + std::string(40, 'y') + "and then?") == 239);
  CHECK(engine.stats().prefix_bytes > 0);
  for (const char c : {'b', 'c', 'd'}) CHECK(cached_by(std::string(500, c)) == 0);
  CHECK(engine.stats().prefix_evictions > 0);
  CHECK(engine.stats().state_bytes <= o.state_bytes);
  CHECK(cached_by(first) < 199);  // some of it is gone
  CHECK(bytes_of_requests(engine.stats()) == 0);
}

TEST_CASE("what is to be kept stays, what goes for want of memory comes back from a folder", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, std::string(50, 'y'));
  const TempDir folder;
  for (const bool disk : {false, true}) {
    EngineOptions o = by_hand();
    o.state_bytes = 20 * 256;  // 640 tokens
    if (disk) o.prefix_folder = folder.path();
    Engine engine(model, o);
    const auto cached_by = [&](const std::string& prompt, double keep) {
      const int64_t before = engine.stats().cached_tokens;
      Request r = ask(prompt, 4);
      r.keep_s = keep;
      const RequestId id = engine.submit(r);
      CHECK(run(engine)[id].text == "yyyy");
      return engine.stats().cached_tokens - before;
    };
    const std::string kept(200, 'a'), other(200, 'b');
    CHECK(cached_by(kept, 1000) == 0);
    CHECK(cached_by(other, 0) == 0);
    for (const char c : {'c', 'd', 'e'}) CHECK(cached_by(std::string(300, c), 0) == 0);
    CHECK(cached_by(kept, 0) == 199);
    if (disk)
      CHECK(engine.stats().prefix_spilled > 0);
    else
      CHECK(cached_by(other, 0) == 0);
  }
  EngineOptions tight = by_hand();
  tight.state_bytes = 10 * 256;
  Engine full(model, tight);  // what is kept never makes a request fail
  for (const char c : {'a', 'b', 'c'}) {
    Request r = ask(std::string(250, c), 4);
    r.keep_s = 1000;
    const RequestId id = full.submit(r);
    CHECK(run(full)[id].text == "yyyy");
  }
  const auto bad = [&](double keep) {
    Engine engine(model, by_hand());
    Request r = ask("x");
    r.keep_s = keep;
    return error_of([&] { engine.submit(r); }).where();
  };
  CHECK(bad(-1) == "keep");
  EngineOptions o = by_hand();
  o.prefix_folder = folder.path() + "/none";
  CHECK(code_of([&] { Engine x(model, o); }) == Code::io);
}

TEST_CASE("only equal salts share", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, std::string(50, 'y'));
  Engine engine(model, by_hand());
  for (const std::string salt : {"a", "b", "a"}) {
    Request r = ask(std::string(100, 'c'), 30);
    r.salt = salt;
    engine.submit(r);
  }
  run(engine);
  CHECK(engine.stats().cached_tokens == 99);  // the third has what the first computed
}

TEST_CASE("a pause stops the steps, a drain the requests", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abc");
  Engine engine(model, by_hand());
  engine.submit(ask("x"));
  engine.pause();
  CHECK(engine.step());
  CHECK(!engine.next());
  CHECK(engine.stats().generated_tokens == 0);
  engine.resume();
  CHECK(engine.drain());
  CHECK(error_of([&] { engine.submit(ask("x")); }).code() == Code::busy);
  CHECK(engine.stats().generated_tokens == 4);
  engine.resume();
  CHECK(engine.submit(ask("x")) == 2);
}

TEST_CASE("an engine with a thread gives events as they come", "[api][concurrent]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdef");
  EngineOptions o;
  o.state_bytes = 1 << 24;
  Engine engine(model, o);
  CHECK(!engine.next());  // nothing could come
  CHECK(!engine.next(0.01));
  CHECK(error_of([&] { engine.step(); }).code() == Code::invalid_argument);
  pollfd poller{engine.event_descriptor(), POLLIN, 0};
  CHECK(poll(&poller, 1, 0) == 0);
  const RequestId id = engine.submit(ask("x"));
  CHECK(poll(&poller, 1, 10000) == 1);
  std::map<RequestId, Told> all;
  while (const auto e = engine.next()) take(all, *e);
  CHECK(all[id].text == "abcdef");
  CHECK(poll(&poller, 1, 0) == 0);
}

TEST_CASE("events go to a callback", "[api][concurrent]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdef");
  std::map<RequestId, Told> all;
  EngineOptions o;
  o.state_bytes = 1 << 24;
  o.on_event = [&](const EngineEvent& e) {
    take(all, e);
    if (e.event.finish != Finish::none) throw 1;  // it should not, but the engine lives
  };
  Engine engine(model, o);
  for (int i = 0; i < 20; ++i) engine.submit(ask("x"));
  CHECK(error_of([&] { engine.next(); }).code() == Code::invalid_argument);
  CHECK(engine.drain());
  REQUIRE(all.size() == 20);
  for (const auto& [id, told] : all) CHECK(told.text == "abcdef");
}

TEST_CASE("an idle engine takes no processor time", "[api][concurrent]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdef");
  EngineOptions o;
  o.state_bytes = 1 << 24;
  o.on_event = [](const EngineEvent&) {};
  Engine engine(model, o);
  engine.submit(ask("x"));
  engine.drain();
  engine.resume();
  const std::clock_t before = std::clock();  // of the process, whatever else the machine does
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const double busy = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  CHECK(busy < 0.02);
}

TEST_CASE("many threads submit, cancel and ask at once", "[api][concurrent]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, std::string(40, 'y'));
  EngineOptions o;
  o.state_bytes = 1 << 24;
  o.max_queued = 10000;
  Engine engine(model, o);
  std::atomic<bool> done{false};
  std::map<RequestId, Told> all;
  std::thread puller([&] {
    while (!done)
      while (const auto e = engine.next(0.01)) take(all, *e);
    while (const auto e = engine.next()) take(all, *e);
  });
  std::vector<std::thread> threads;
  std::atomic<int64_t> n{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const RequestId id = engine.submit(ask("x" + std::to_string(t)));
        ++n;
        if (i % 3 == 0) engine.cancel(id);
        if (i % 7 == 0) (void)engine.stats();
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(engine.drain());
  done = true;
  puller.join();
  REQUIRE(all.size() == static_cast<size_t>(n.load()));
  int64_t cancelled = 0;
  for (const auto& [id, told] : all) {
    CHECK(told.late == 0);
    if (told.finish == Finish::cancelled)
      ++cancelled;
    else
      CHECK(told.text == std::string(40, 'y'));
  }
  CHECK(engine.stats().finished[static_cast<size_t>(Finish::cancelled)] == cancelled);
  CHECK(bytes_of_requests(engine.stats()) == 0);
}

TEST_CASE("an engine may go while it works", "[api][concurrent]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, std::string(4000, 'y'));
  for (int i = 0; i < 10; ++i) {
    EngineOptions o;
    o.state_bytes = 1 << 24;
    Engine engine(model, o);
    for (int k = 0; k < 10; ++k) engine.submit(ask(std::string(500, 'x')));
    (void)engine.next(0.001 * i);
  }
}

TEST_CASE("stats add up", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abcdef");
  Engine engine(model, by_hand());
  for (int i = 0; i < 5; ++i) engine.submit(ask("xy" + std::to_string(i)));
  CHECK(engine.stats().submitted == 5);
  run(engine);
  const EngineStats s = engine.stats();
  CHECK(s.finished[static_cast<size_t>(Finish::end)] == 5);
  CHECK(s.prompt_tokens == 15);
  CHECK(s.generated_tokens == 5 * 7);  // with the one that ends
  CHECK(s.running == 0);
  CHECK(s.waiting == 0);
  for (const Histogram* h : {&s.queue, &s.first_token, &s.prefill, &s.decode, &s.end_to_end, &s.prompt_length,
                             &s.generated_length})
    CHECK(h->count == 5);
  CHECK(s.between_tokens.count == 5 * 6);
  CHECK(s.generated_length.sum == 5 * 7);
  CHECK(s.step.count == static_cast<uint64_t>(s.steps));
  CHECK(s.step_tokens.sum == 15 + 5 * 6);
  uint64_t n = 0;
  for (const uint64_t c : s.prompt_length.counts) n += c;
  CHECK(n == 5);
  CHECK(s.prompt_length.counts.size() == s.prompt_length.bounds.size() + 1);
}

namespace {

// The real engine and model on modelled time: open-loop arrivals, cancels, deadlines, a budget that forces
// preemptions. What it tells is a function of the seed.
struct Replay {
  uint64_t digest = 14695981039346656037u;
  int64_t events = 0;
  double seconds = 0;
  EngineStats stats;
};

Replay replay(const Model& model, uint64_t seed) {
  Replay out;
  uint64_t draws = 0;
  const auto roll = [&](int64_t below) {
    return static_cast<int64_t>(uniform(seed, draws++) * static_cast<float>(below));
  };
  double now = 0;
  EngineHooks hooks;
  hooks.clock = [&] { return now; };
  hooks.after_step = [&](std::span<const backends::Slice> slices, std::span<backends::StepStatus>) {
    engine::StepLoad load;
    for (const backends::Slice& s : slices) load.add(s.start, static_cast<int64_t>(s.tokens.size()));
    now += 2e-3 + 1e-4 * static_cast<double>(load.tokens) + 1e-8 * load.seen;
  };
  EngineOptions o = by_hand();
  o.max_running = 16;
  o.state_bytes = 60 * 256;
  o.target_ms = 20;
  Engine::Impl engine(model, o, hooks);
  const auto note = [&](uint64_t x) { out.digest = (out.digest ^ x) * 0x100000001b3; };
  double arrival = 0;
  for (int made = 0; made < 400 || engine.stats().running + engine.stats().waiting > 0;) {
    while (made < 400 && arrival <= now) {
      Request r =
          ask(std::string(static_cast<size_t>(1 + roll(made % 20 == 0 ? 600 : 60)), 'x'), 1 + roll(60));
      r.tenant = std::to_string(made % 5);
      r.band = made % 3;
      if (made % 9 == 0) r.deadline_s = 0.01 + 0.001 * static_cast<double>(roll(200));
      const RequestId id = engine.submit(r);
      if (made % 7 == 0) engine.cancel(id - static_cast<RequestId>(roll(3)));
      ++made;
      arrival += 0.0005 * static_cast<double>(roll(30));
    }
    if (!engine.step(0)) now = std::max(now, arrival);
    while (const auto e = engine.next(0)) {
      ++out.events;
      note(e->request * 1000003 + static_cast<uint64_t>(e->event.id + 1) * 8 +
           static_cast<uint64_t>(e->event.finish));
    }
  }
  out.seconds = now;
  out.stats = engine.stats();
  return out;
}

}  // namespace

TEST_CASE("a seed replays the engine on modelled time", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, std::string(100, 'y'));
  const Replay a = replay(model, 1), b = replay(model, 1), c = replay(model, 2);
  CHECK(a.digest == b.digest);
  CHECK(a.seconds == b.seconds);
  CHECK(a.digest != c.digest);
  const auto ended = [&](Finish f) { return a.stats.finished[static_cast<size_t>(f)]; };
  CHECK(ended(Finish::length) > 200);
  CHECK(ended(Finish::cancelled) > 10);
  CHECK(ended(Finish::deadline) > 5);
  CHECK(ended(Finish::error) == 0);
  CHECK(a.stats.preemptions > 0);
  CHECK(bytes_of_requests(a.stats) == 0);
  int64_t all = 0;
  for (const int64_t n : a.stats.finished) all += n;
  CHECK(all == 400);
  // With somebody decoding, steps stay near the target.
  CHECK(a.stats.between_tokens.sum / static_cast<double>(a.stats.between_tokens.count) < 0.04);
}
