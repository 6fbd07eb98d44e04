// What an embedder's process has beside one runtime: another one, and itself when the library's things are
// gone.
#include <dirent.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "capi.h"
#include "support/temp.h"

using namespace ingle::tests;

namespace {

struct Meter {
  std::atomic<int64_t> live{0}, n{0};
};
void* allocate(uint64_t bytes, uint64_t alignment, void* user) {
  auto& meter = *static_cast<Meter*>(user);
  ++meter.n;
  meter.live += static_cast<int64_t>(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void give_back(void* memory, uint64_t bytes, void* user) {
  static_cast<Meter*>(user)->live -= static_cast<int64_t>(bytes);
  std::free(memory);
}

// A runtime with an allocator, a logger and threads of its own, and a model.
struct House {
  Meter meter;
  std::atomic<int> n_logged{0};
  Runtime runtime;
  Model model;

  House(int64_t threads, const std::string& model_options) {
    Err err;
    ingle_allocator allocator = INGLE_ALLOCATOR_INIT;
    allocator.allocate = allocate;
    allocator.release = give_back;
    allocator.user = &meter;
    ingle_logger logger = INGLE_LOGGER_INIT;
    logger.level = INGLE_LOG_DEBUG;
    logger.user = &n_logged;
    logger.log = [](int32_t, const char*, uint64_t, void* user) { ++*static_cast<std::atomic<int>*>(user); };
    const Options o = make_options("runtime", "{\"threads\": " + std::to_string(threads) + "}");
    REQUIRE_OK(ingle_runtime_create(o, &allocator, &logger, runtime.out(), err));
    REQUIRE_OK(ingle_model_load(runtime, model_path().c_str(), make_options("model", model_options), nullptr,
                                model.out(), err));
  }
};

// An answer that is drawn step by step: seed and prompt say which.
class Talk {
 public:
  Talk(const House& house, int32_t seed) : session_(make_session(house.model)) {
    Err err;
    const Options o =
        make_options("sampler", R"({"temperature": 1.3, "seed": )" + std::to_string(seed) + "}");
    REQUIRE_OK(ingle_sampler_create(o, sampler_.out(), err));
    for (int32_t i = 0; i < 40; ++i) prompt_.push_back(3 + (seed * 31 + i * 7) % 250);
  }
  void begin() {
    Err err;
    REQUIRE_OK(ingle_session_feed_tokens(session_, prompt_.data(), static_cast<int64_t>(prompt_.size()),
                                         nullptr, err));
    REQUIRE_OK(ingle_session_begin(session_, make_options("generate", R"({"ignore_end": true})"), err));
  }
  // On any thread, where the test's own checks may not be: an answer that fails is one that lacks steps.
  void step() {
    Err err;
    ingle_event event = INGLE_EVENT_INIT;
    if (ingle_session_next(session_, sampler_, &event, err) != INGLE_OK) return;
    bits_.push_back(event.id);
    int32_t bits = 0;
    static_assert(sizeof bits == sizeof event.logprob);
    std::memcpy(&bits, &event.logprob, sizeof bits);
    bits_.push_back(bits);
  }
  const std::vector<int32_t>& bits() const { return bits_; }

 private:
  Session session_;
  Sampler sampler_;
  std::vector<int32_t> prompt_, bits_;
};

constexpr int kSteps = 24;

std::vector<int32_t> alone(const House& house, int32_t seed) {
  Talk talk(house, seed);
  talk.begin();
  for (int i = 0; i < kSteps; ++i) talk.step();
  return talk.bits();
}

int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  in >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}
int entries(const char* folder) {
  int n = 0;
  if (DIR* d = opendir(folder)) {
    while (readdir(d)) ++n;
    closedir(d);
  }
  return n;
}

}  // namespace

TEST_CASE("two runtimes that take turns give the bits that each gives alone", "[capi]") {
  std::vector<int32_t> first, second;
  {
    const House a(1, "{}");
    first = alone(a, 1);
  }
  {
    const House b(3, R"({"backend": "ref"})");
    second = alone(b, 2);
  }
  const House a(1, "{}"), b(3, R"({"backend": "ref"})");
  Talk one(a, 1), two(b, 2);
  one.begin();
  two.begin();
  for (int i = 0; i < kSteps; ++i) {
    one.step();
    two.step();
  }
  CHECK(one.bits() == first);
  CHECK(two.bits() == second);
  CHECK(first != second);
}

TEST_CASE("two runtimes at work at once give the bits that each gives alone", "[capi][concurrent]") {
  const House a(1, "{}"), b(2, R"({"state_type": "f32"})");
  const std::vector<int32_t> first = alone(a, 1), second = alone(b, 2);
  std::deque<Talk> talks;
  for (int i = 0; i < 12; ++i) {
    talks.emplace_back(i % 2 ? b : a, i % 2 ? 2 : 1);
    talks.back().begin();
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t; i < talks.size(); i += 4)
        for (int n = 0; n < kSteps; ++n) talks[i].step();
    });
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < talks.size(); ++i) CHECK(talks[i].bits() == (i % 2 ? second : first));
}

TEST_CASE("a runtime's allocator, logger and options are its own", "[capi]") {
  Err err;
  House a(1, "{}"), b(1, "{}");
  const int64_t n_before = b.meter.n;
  const int logged_before = b.n_logged;
  alone(a, 1);
  CHECK(a.meter.n > 0);
  CHECK(b.meter.n == n_before);
  CHECK(b.n_logged == logged_before);
  a.model.reset();
  a.runtime.reset();
  CHECK(a.meter.live == 0);
  CHECK(alone(b, 1).size() == 2 * kSteps);  // the other goes on
}

namespace {

// One whole life of the library's things: load, ask, save, go on, serve, and let go.
void live(const std::string& folder) {
  Err err;
  House house(2, "{}");
  CHECK(alone(house, 1).size() == 2 * kSteps);
  {
    const Session session = make_session(house.model, "Once upon a time");
    const std::string saved = folder + "/saved";
    REQUIRE_OK(ingle_session_save(session, saved.c_str(), err));
    Session again;
    REQUIRE_OK(ingle_session_load(house.model, saved.c_str(), nullptr, again.out(), err));
    Grammar grammar;
    REQUIRE_OK(ingle_grammar_create("json_schema", R"({"enum": ["red", 7]})", -1, nullptr, nullptr,
                                    grammar.out(), err));
    const Options held = make_options("generate", R"({"max_tokens": 12})");
    REQUIRE_OK(ingle_options_set_grammar(held, grammar, err));
    Text text;
    REQUIRE_OK(
        ingle_session_generate(again, make_greedy(), held, nullptr, nullptr, nullptr, text.out(), err));
  }
  Owned<ingle_engine, ingle_engine_release> engine;
  REQUIRE_OK(ingle_engine_create(house.model, make_options("engine", R"({"state_bytes": 4000000})"), nullptr,
                                 engine.out(), err));
  const Options brief = make_options("generate", R"({"max_tokens": 6})");
  for (int i = 0; i < 4; ++i) {
    ingle_request request = INGLE_REQUEST_INIT;
    request.text = "Hello there";
    request.generate = brief;
    uint64_t id = 0;
    REQUIRE_OK(ingle_engine_submit(engine, &request, &id, err));
  }
  for (uint64_t id = 1; id != 0;) {
    ingle_event event = INGLE_EVENT_INIT;
    REQUIRE_OK(ingle_engine_next(engine, -1, &id, &event, nullptr, err));
  }
  Model none;
  CHECK(ingle_model_load(house.runtime, "/no/such/file", nullptr, nullptr, none.out(), err) != INGLE_OK);
  engine.reset();
  house.model.reset();
  house.runtime.reset();
  CHECK(house.meter.n > 0);
  CHECK(house.meter.live == 0);
}

}  // namespace

// Leaking but the model's weights would take 8 MB in these rounds; a thread, a mapping or a file more each
// round would show as well.
TEST_CASE("what is unloaded gives everything back, round after round", "[capi]") {
  const TempDir dir;
  constexpr int kWarm = 20, kRounds = 160;
  for (int i = 0; i < kWarm; ++i) live(dir.path());
  const int64_t before = resident_bytes();
  for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  for (int i = 0; i < kRounds; ++i) live(dir.path());
  const int64_t grown = resident_bytes() - before;
  WARN("resident after " << kRounds << " more loads: " << grown / 1024 << " KiB more");
#ifndef INGLE_SANITIZED  // a sanitizer keeps what was freed
  CHECK(grown < (3 << 20));
#endif
  CHECK(entries("/proc/self/fd") == files);
  // The system may list a thread for a moment after it was joined.
  for (int i = 0; i < 1000 && entries("/proc/self/task") != threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(entries("/proc/self/task") == threads);
}
