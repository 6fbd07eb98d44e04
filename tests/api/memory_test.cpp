// Memory that runs out at any point: this executable can let operator new fail.
#include <atomic>
#include <cstdlib>
#include <new>

#include "support.h"

namespace {
std::atomic<int64_t> n_left{-1};  // allocations until the one that fails; -1: none does

bool fails() {
  if (n_left < 0) return false;
  return n_left.fetch_sub(1) == 0;
}
}  // namespace

// Not inlined, else GCC 12 takes free() for a mismatch of the operator new that it did not inline.
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = fails() ? nullptr : std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : std::malloc(bytes ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

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
