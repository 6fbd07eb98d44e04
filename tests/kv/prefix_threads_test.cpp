#include <atomic>
#include <thread>

#include "kv/prefix_index.h"
#include "kv/support.h"

using namespace ingle;
using namespace ingle::kv;

TEST_CASE("several threads store and match while the pool is short", "[kv][concurrent]") {
  const PartSpec part = full_part();
  const auto page = static_cast<uint64_t>(part.page_bytes());
  const StatePool pool(system_allocator(), {part}, 24 * page);
  std::atomic<int> wrong{0}, hits{0};
  {
    PrefixIndex index(pool);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < 150; ++round) {
          std::vector<int32_t> tokens(static_cast<size_t>(33 + 30 * ((round + t) % 3)), 1);
          tokens[32] = round % 5;
          try {
            PrefixMatch m = index.match(tokens, {}, static_cast<int64_t>(tokens.size()) - 1);
            hits += m.n_matched > 0;
            const int64_t first = m.n_matched, n = static_cast<int64_t>(tokens.size()) - first;
            m.state.reserve(n);
            const auto value = [&](int64_t p) {
              return static_cast<uint8_t>(p < 32 ? p : p + 50 * tokens[32]);
            };
            for (int64_t p = first; p < first + n; ++p)
              for_each_element(part, m.state.pages(0)[static_cast<size_t>(p / 32)], p % 32,
                               [&](std::byte* at, uint32_t) { *at = std::byte{value(p)}; });
            m.state.commit(n);
            for (int64_t p = 0; p < first + n; ++p)
              for_each_element(part, m.state.pages(0)[static_cast<size_t>(p / 32)], p % 32,
                               [&](std::byte* at, uint32_t) { wrong += *at != std::byte{value(p)}; });
            index.store(tokens, {}, m.state);
          } catch (const Error& e) {
            wrong += e.code() != Code::out_of_memory;
          }
        }
      });
    for (std::thread& t : threads) t.join();
  }
  CHECK(wrong == 0);
  CHECK(hits > 100);
  CHECK(pool.bytes_in_use() == 0);
}
