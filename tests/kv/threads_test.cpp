#include <atomic>
#include <thread>
#include <vector>

#include "kv/support.h"

using namespace ingle;
using namespace ingle::kv;

TEST_CASE("sequences of one pool live on several threads", "[kv][concurrent]") {
  TestAllocator memory;
  std::atomic<int> wrong{0};
  {
    const PartSpec part = full_part();
    StatePool pool(memory.get(), {part, window_part(60)}, uint64_t{1} << 30);
    SequenceState base(pool);
    extend(base, pool, 45, 1);
    std::vector<SequenceState> starts;
    for (int t = 0; t < 4; ++t) starts.push_back(base.fork());
    { const SequenceState dropped = std::move(base); }
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        SequenceState own = std::move(starts[t]);
        for (uint32_t round = 0; round < 200; ++round) {
          SequenceState fork = own.fork();
          fork.reserve(30);
          // Plain writes: Catch's assertions are for one thread.
          for (int64_t p = 45; p < 75; ++p) {
            std::byte* page = fork.pages(0)[static_cast<size_t>(p / kPageTokens)];
            for_each_element(part, page, p % kPageTokens,
                             [&](std::byte* at, uint32_t) { *at = static_cast<std::byte>(t + round); });
          }
          fork.commit(30);
          for (int64_t p = 0; p < 45; ++p) wrong += !holds(fork, 0, part, p, 1);
          for (int64_t p = 45; p < 75; ++p) {
            std::byte* page = fork.pages(0)[static_cast<size_t>(p / kPageTokens)];
            for_each_element(part, page, p % kPageTokens, [&](std::byte* at, uint32_t) {
              wrong += *at != static_cast<std::byte>(t + round);
            });
          }
          if (round % 3 == 0) own = fork.fork(), own.truncate(45);
        }
      });
    }
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
    starts.clear();
    CHECK(pool.bytes_in_use() == 0);
  }
  CHECK(memory.live_bytes == 0);
}
