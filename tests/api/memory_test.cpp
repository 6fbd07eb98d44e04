// Memory that runs out at any point: this executable can let operator new fail.
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>

#include "saved_session.h"
#include "support.h"
#include "support/temp.h"

namespace {
std::atomic<int64_t> n_left{-1};  // allocations until the one that fails; -1: none does

bool fails() {
  if (n_left < 0) return false;
  return n_left.fetch_sub(1) == 0;
}
}  // namespace

std::atomic<int64_t> n_live{0}, n_peak{0};  // bytes
std::atomic<int64_t> n_taken{0};            // allocations
void* counted(void* memory) {
  ++n_taken;
  const int64_t now = n_live += static_cast<int64_t>(malloc_usable_size(memory));
  for (int64_t peak = n_peak; now > peak && !n_peak.compare_exchange_weak(peak, now);) {
  }
  return memory;
}

// Not inlined, else GCC 12 takes free() for a mismatch of the operator new that it did not inline.
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = fails() ? nullptr : std::malloc(bytes ? bytes : 1)) return counted(memory);
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : counted(std::malloc(bytes ? bytes : 1));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  n_live -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

using namespace ingle;
using namespace ingle::tests;

namespace {

std::vector<float> logits_of(const Session& session) {
  const std::span<const float> row = session.logits();
  return {row.begin(), row.end()};
}

// A feed and an answer whose k-th allocation fails; whether one did.
bool answer_failing_at(Session& session, int64_t k) {
  Sampler greedy = Sampler::greedy();
  GenerateOptions options;
  options.ignore_end = true;
  options.top_logprobs = 2;
  const std::vector<TokenId> prompt{5, 6, 7, 8, 9};
  bool failed = false;
  n_left = k;
  try {
    session.feed(prompt);
    session.begin(options);
    for (int i = 0; i < 20; ++i) session.next(greedy);
  } catch (const std::bad_alloc&) {
    failed = true;
  } catch (const Error& e) {
    failed = e.code() == Code::out_of_memory;
  }
  n_left = -1;
  return failed;
}

}  // namespace

TEST_CASE("a session knows what it has computed, wherever memory runs out", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  bool failed = true;
  for (int64_t k = 0; failed; ++k) {
    REQUIRE(k < 10000);
    Session session(model);
    failed = answer_failing_at(session, k);
    if (session.tokens().empty()) continue;
    CAPTURE(k);
    Session fresh(model);
    fresh.feed(session.tokens());
    CHECK(logits_of(session) == logits_of(fresh));
  }
}

TEST_CASE("saving and loading may fail at each allocation", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = Model::load(runtime, tiny_model());
  const TempDir dir;
  const std::string path = dir.path() + "/saved";
  Session session(model);
  session.feed(std::vector<TokenId>(40, 7));
  session.save(path);
  const std::string good = saved(session);
  const std::vector<float> row = logits_of(session);
  const auto failing_at = [&](int64_t k, auto f) {
    bool failed = false;
    n_left = k;
    try {
      f();
    } catch (const std::bad_alloc&) {
      failed = true;
    } catch (const Error& e) {
      failed = e.code() == Code::out_of_memory;
    }
    n_left = -1;
    return failed;
  };
  int64_t k = 0;
  while (failing_at(k, [&] { session.save(path); })) {
    REQUIRE(++k < 1000);
    REQUIRE(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);
    CHECK(saved(Session::load(model, path)) == good);
  }
  CHECK(k > 3);
  k = 0;
  std::vector<float> loaded_row;
  const int64_t before = n_live;
  while (failing_at(k, [&] { loaded_row = logits_of(Session::load(model, path)); })) {
    REQUIRE(++k < 1000);
    REQUIRE(n_live < before + 100000);  // a leak at each of them would be more
  }
  CHECK(k > 10);
  CHECK(loaded_row == row);
  CHECK(saved(session) == good);
}

TEST_CASE("a saved session that claims much takes no more memory than it is long", "[api]") {
  const Runtime runtime = one_thread();
  const Model model = scripted(runtime, "abc");
  Session session(model);
  session.feed_text("question");
  const std::string good = saved(session);
  const size_t n_records = records_of(good).size();
  int refused = 0;
  for (size_t record = 0; record < n_records; ++record) {
    for (const uint64_t claim : {uint64_t{1} << 20, uint64_t{1} << 31, uint64_t{1} << 40, UINT64_MAX >> 1}) {
      const RecordPlace place = records_of(good)[record];
      for (size_t at = place.header + 8; at + 8 <= place.end; at += 8) {
        std::string bad = good;
        std::memcpy(bad.data() + at, &claim, 8);
        seal(bad);
        const int64_t before = n_live;
        n_peak = before;
        refused += code_of([&] { loaded(model, bad); }) != Code::ok;
        REQUIRE(n_peak - before < static_cast<int64_t>(good.size()) + (64 << 20));
        REQUIRE(n_live - before < (1 << 20));
      }
    }
  }
  CHECK(refused > 20);
}

TEST_CASE("an answer takes no memory for a token", "[api]") {
  const Model model = Model::load(one_thread(), tiny_model());
  SamplerOptions some;
  some.temperature = 0.8f;
  some.top_k = 20;
  some.top_p = 0.9f;
  some.seed = 7;
  for (const bool sampled : {false, true}) {
    CAPTURE(sampled);
    Sampler sampler = sampled ? Sampler(some) : Sampler::greedy();
    Session session(model);
    std::vector<TokenId> prompt(70, 5);
    session.feed(prompt);
    GenerateOptions o;
    o.ignore_end = true;
    session.begin(o);
    for (int i = 0; i < 40; ++i) session.next(sampler);  // buffers grow
    int64_t most = 0;
    for (int i = 0; i < 16; ++i) {  // all in one page of the state
      const int64_t before = n_taken;
      session.next(sampler);
      most = std::max<int64_t>(most, n_taken - before);
    }
    CHECK(most == 0);
  }
}
