#include "core/threads.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "core/error.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace ingle;
using tests::error_of;

TEST_CASE("every worker runs once", "[core][concurrent]") {
  for (int size = 1; size <= 4; ++size) {
    ThreadPool pool(size);
    REQUIRE(pool.size() == size);
    std::vector<int> runs(static_cast<size_t>(size));  // plain numbers: run() itself must order the accesses
    for (int i = 0; i < 1000; ++i) {
      pool.run([&](int worker) { ++runs[static_cast<size_t>(worker)]; });
    }
    for (const int n : runs) CHECK(n == 1000);
  }
}

TEST_CASE("the caller is worker 0", "[core][concurrent]") {
  ThreadPool pool(3);
  std::vector<std::thread::id> ids(3);
  pool.run([&](int worker) { ids[static_cast<size_t>(worker)] = std::this_thread::get_id(); });
  CHECK(ids[0] == std::this_thread::get_id());
  CHECK(ids[1] != ids[0]);
  CHECK(ids[2] != ids[0]);
  CHECK(ids[1] != ids[2]);
}

TEST_CASE("what was written before a barrier is visible after it", "[core][concurrent]") {
  constexpr int kRounds = 10'000;
  for (int size = 1; size <= 4; ++size) {
    ThreadPool pool(size);
    const auto n = static_cast<size_t>(size);
    std::vector<int> written(n), wrong(n);
    pool.run([&](int worker) {
      const auto me = static_cast<size_t>(worker);
      for (int round = 1; round <= kRounds; ++round) {
        written[me] = round;
        pool.barrier(worker);
        for (const int w : written) wrong[me] += w != round;
        pool.barrier(worker);
      }
    });
    for (const int w : wrong) CHECK(w == 0);
  }
}

TEST_CASE("workers that are late, or that slept, are waited for", "[core][concurrent]") {
  ThreadPool pool(3);
  std::vector<int> written(3), wrong(3);
  for (int late = 0; late < 3; ++late) {
    pool.run([&](int worker) {
      const auto me = static_cast<size_t>(worker);
      for (int round = 1; round <= 3; ++round) {
        // Long enough for the others to go to sleep on the futex.
        if (worker == late) std::this_thread::sleep_for(std::chrono::milliseconds(3));
        written[me] = round;
        pool.barrier(worker);
        for (const int w : written) wrong[me] += w != round;
        pool.barrier(worker);
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // and for the idle ones
  }
  for (const int w : wrong) CHECK(w == 0);
}

TEST_CASE("calls from many threads take turns", "[core][concurrent]") {
  for (const int size : {1, 4}) {
    ThreadPool pool(size);
    constexpr int kCallers = 4, kCalls = 200;
    int total = 0;  // written by worker 0 only, so by one caller at a time
    std::atomic<int> inside = 0, runs = 0;
    std::atomic<bool> overlapped = false;
    std::vector<std::thread> callers;
    for (int c = 0; c < kCallers; ++c) {
      callers.emplace_back([&] {
        for (int i = 0; i < kCalls; ++i) {
          pool.run([&](int worker) {
            ++runs;
            if (worker == 0) {
              if (++inside != 1) overlapped = true;
              ++total;
              --inside;
            }
            pool.barrier(worker);
          });
        }
      });
    }
    for (std::thread& t : callers) t.join();
    CHECK_FALSE(overlapped);
    CHECK(total == kCallers * kCalls);
    CHECK(runs == kCallers * kCalls * size);
  }
}

TEST_CASE("what a worker throws comes out of run, when all are through", "[core][concurrent]") {
  for (const int n : {1, 2, 5}) {
    ThreadPool pool(n);
    for (int thrower = 0; thrower < n; ++thrower) {
      std::atomic<int> through{0};
      const auto run = [&](bool all) {
        pool.run([&](int worker) {
          ++through;
          if (all || worker == thrower) throw std::runtime_error("no");
        });
      };
      CHECK_THROWS_AS(run(false), std::runtime_error);
      CHECK(through == n);
      CHECK_THROWS_AS(run(true), std::runtime_error);
      pool.run([&](int) { ++through; });  // and goes on
      CHECK(through == 3 * n);
    }
  }
}

TEST_CASE("two pools work side by side", "[core][concurrent]") {
  ThreadPool a(2), b(2);
  std::atomic<int> n = 0;
  std::thread other([&] {
    for (int i = 0; i < 500; ++i) b.run([&](int) { ++n; });
  });
  for (int i = 0; i < 500; ++i) a.run([&](int) { ++n; });
  other.join();
  CHECK(n == 2000);
}

TEST_CASE("pools come and go", "[core][concurrent]") {
  for (int i = 0; i < 50; ++i) {
    ThreadPool unused(4);
    ThreadPool pool(2);
    int seen = 0;
    pool.run([&](int worker) {
      if (worker == 1) ++seen;  // worker 0 leaves it alone
    });
    CHECK(seen == 1);
  }
}

TEST_CASE("many more threads than cores still finish", "[core][concurrent]") {
  ThreadPool pool(32);
  std::atomic<int> n = 0;
  pool.run([&](int worker) {
    for (int round = 0; round < 100; ++round) {
      ++n;
      pool.barrier(worker);
    }
  });
  CHECK(n == 3200);
}

TEST_CASE("a pool has at least one thread and not too many", "[core]") {
  for (const int size : {0, -1, 1'000'000}) {
    CHECK(error_of([&] { ThreadPool{size}; }).code() == Code::invalid_argument);
  }
}
