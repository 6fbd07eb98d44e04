// A warm sampler takes no memory: this executable counts what goes through operator new.
#include <atomic>
#include <cstdlib>
#include <new>

#include "sampling/support.h"

namespace {
std::atomic<int64_t> n_allocations{0};
}

// Not inlined, else GCC 12 takes free() for a mismatch of the operator new that it did not inline.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++n_allocations;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++n_allocations;
  return std::malloc(bytes ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

using namespace ingle::sampling;

TEST_CASE("a warm sampler does not allocate", "[sampling]") {
  SamplerParams greedy, penalised, whole;
  greedy.temperature = 0;
  penalised.repeat_penalty = 1.1f;
  penalised.penalty_window = 4;
  penalised.logit_bias = {{3, 1.0f}, {4, kBan}};
  whole.top_k = 0;
  whole.typical_p = 0.9f;
  SamplerParams all, mirostat, adaptive;
  all.dry_multiplier = 0.8f;
  all.no_repeat_ngram = 3;
  all.banned_tokens = {5};
  all.top_n_sigma = 3;
  all.tfs_z = 0.99f;
  all.top_a = 0.01f;
  all.xtc_probability = 0.5f;
  all.dynatemp_range = 0.5f;
  all.smoothing_factor = 0.1f;
  mirostat.mirostat = 1;
  adaptive.adaptive_target = 0.3f;
  for (const SamplerParams& p : {SamplerParams{}, greedy, penalised, whole, all, mirostat, adaptive}) {
    Chain s(p);
    CAPTURE(s.describe());
    std::vector<Row> rows;
    for (uint32_t i = 0; i < 8; ++i) rows.push_back(random_row(i, 5000, 0));
    for (int i = 0; i < 100; ++i) {  // warm, and with a history that has just grown
      for (const Row& row : rows) s.accept(s.sample(row));
    }
    const int64_t before = n_allocations;
    for (const Row& row : rows) s.sample(row);
    s.accept(4999);
    s.rollback(1);
    const int64_t after = n_allocations;
    CHECK(after == before);
  }
}
