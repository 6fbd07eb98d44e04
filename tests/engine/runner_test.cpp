// The workspace of a runner: it grows, survives a lack of memory, is shared by threads, and takes no memory
// per token.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "allocations.h"
#include "golden/support.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::tests;

namespace {

const std::string kModel = data_path("models/qwen2-q8_0.gguf");

struct Memory {  // what went through the user's allocator, and whether it still gives
  std::atomic<int64_t> n{0};
  std::atomic<uint64_t> most = UINT64_MAX;  // bytes of one allocation
};
Allocator counting(Memory& memory) {
  return {[](size_t bytes, size_t alignment, void* user) -> void* {
            auto& m = *static_cast<Memory*>(user);
            ++m.n;
            return bytes <= m.most
                       ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                       : nullptr;
          },
          [](void* p, size_t, void*) { std::free(p); }, &memory};
}

std::vector<int32_t> ids_up_to(size_t n) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>((i * 37 + 5) % 300));
  return ids;
}

}  // namespace

TEST_CASE("the workspace grows and does not change results", "[engine]") {
  Loaded grown(kModel, {.backend = "cpu"});
  for (const size_t n : {1u, 3u, 70u, 2u, 200u, 1u}) {
    CAPTURE(n);
    Loaded fresh(kModel, {.backend = "cpu"});
    const std::vector<int32_t> ids = ids_up_to(n);
    CHECK(logits_of(grown, ids, 512) == logits_of(fresh, ids, 512));
    engine::Sequence a = grown.sequence(), b = fresh.sequence();
    a.feed(ids, {});
    b.feed(ids, {});
    CHECK(std::equal(a.logits().begin(), a.logits().end(), b.logits().begin(), b.logits().end()));
  }
}

TEST_CASE("a workspace that cannot grow leaves the runner and the sequence as they were", "[engine]") {
  Memory memory;
  Loaded model(kModel, {.backend = "cpu", .allocator = counting(memory)});
  engine::Sequence s = model.sequence();
  s.feed(ids_up_to(10), {});
  const std::vector<float> before(s.logits().begin(), s.logits().end());
  memory.most = 40000;
  CHECK(error_of([&] { s.feed(ids_up_to(400), {}); }).code() == Code::out_of_memory);
  CHECK(s.length() == 10);
  CHECK(std::equal(before.begin(), before.end(), s.logits().begin(), s.logits().end()));
  s.feed(ids_up_to(1), {});
  memory.most = UINT64_MAX;
  engine::Sequence fresh = model.sequence();
  std::vector<int32_t> all = ids_up_to(10);
  all.push_back(ids_up_to(1)[0]);
  fresh.feed(all, {});
  CHECK(std::equal(fresh.logits().begin(), fresh.logits().end(), s.logits().begin(), s.logits().end()));
}

TEST_CASE("a decoded token takes no memory", "[engine]") {
  Memory memory;
  for (const std::string file : {"models/qwen2-q8_0.gguf", "models/gemma3_text/model-f32.gguf"}) {
    Loaded model(data_path(file), {.backend = "cpu", .allocator = counting(memory)});
    engine::Sequence s = model.sequence();
    s.feed(ids_up_to(65), {});
    std::vector<int32_t> id = {7};
    s.feed(id, {});
    int64_t allocating = 0;
    for (int i = 0; i < 300; ++i) {
      // Pages of state are lent as they fill, and what a sequence keeps grows geometrically.
      const bool new_page = s.length() % kv::kPageTokens == 0;
      const int64_t before = n_allocations() + memory.n;
      s.feed(id, {});
      const bool took = n_allocations() + memory.n != before;
      if (took && !new_page) ++allocating;
    }
    CAPTURE(file);
    CHECK(allocating <= 3);  // of 300: the token list doubles

    // The step itself never takes any.
    kv::SequenceState state(model.states());
    state.reserve(40);
    std::vector<float> logits(static_cast<size_t>(model.plan().n_vocab));
    for (int i = 0; i < 40; ++i) {
      backends::Slice slice{&state, i, id, 1};
      backends::StepStatus status{};
      const int64_t before = n_allocations() + memory.n;
      model.runner().step({{&slice, 1}, {&status, 1}, logits.data(), nullptr});
      CHECK(n_allocations() + memory.n == before);
    }
  }
}

TEST_CASE("sequences on several threads share a runner", "[engine][concurrent]") {
  Loaded model(kModel, {.backend = "cpu"});
  const std::vector<int32_t> ids = ids_up_to(90);
  const std::vector<float> expected = logits_of(model, ids, 512);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3; ++i) {
        engine::Sequence s = model.sequence();
        engine::FeedOptions options;
        options.chunk = 5 + 20 * t;
        std::vector<float> out;
        options.row = [&](int64_t, std::span<const float> row) {
          out.insert(out.end(), row.begin(), row.end());
        };
        s.feed(ids, options);
        wrong += out != expected;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}
