#include "core/threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/cpu.h"
#include "core/error.h"

namespace ingle {
namespace {

constexpr int kMostThreads = 1024;
constexpr int64_t kLongSpinNs = 50'000, kShortSpinNs = 1'000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a futex is a plain 32-bit word");
void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void futex_wake_all(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// How long a wait spins before it sleeps. A wait that runs out means that somebody was late, most likely
// because there are fewer cores than threads, where spinning keeps the late one off its core: the budget
// shrinks. It grows back while waits are short.
class SpinBudget {
 public:
  explicit SpinBudget(bool oversubscribed) : ns_(oversubscribed ? kShortSpinNs : kLongSpinNs) {}
  int64_t ns() const { return ns_.load(std::memory_order_relaxed); }
  void ran_out() { ns_.store(std::max(ns() / 2, kShortSpinNs), std::memory_order_relaxed); }
  void sufficed() {
    const int64_t v = ns();  // lost updates between threads do no harm
    if (v < kLongSpinNs) ns_.store(std::min(v + v / 8, kLongSpinNs), std::memory_order_relaxed);
  }

 private:
  std::atomic<int64_t> ns_;
};

// A word that threads wait on. Each on its own cache line, so that waiting for one does not slow another
// down.
class alignas(64) Gate {
 public:
  uint32_t value(std::memory_order order = std::memory_order_acquire) const { return word_.load(order); }

  // Sequentially consistent against `sleepers_`: either the waker sees the sleeper, or the sleeper sees the
  // new value.
  void set(uint32_t v) {
    word_.store(v, std::memory_order_seq_cst);
    wake();
  }
  uint32_t subtract_one() {
    const uint32_t left = word_.fetch_sub(1, std::memory_order_seq_cst) - 1;
    if (left == 0) wake();
    return left;
  }

  // Returns the first value for which `open` holds. True in `slept` when the spin did not suffice.
  template <class Open>
  uint32_t wait(Open open, int64_t spin_ns, bool* slept) {
    *slept = false;
    uint32_t v = value();
    if (open(v) || spin(open, spin_ns, &v)) return v;
    *slept = true;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (!open(v = value(std::memory_order_seq_cst))) futex_wait(word_, v);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return v;
  }

 private:
  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake_all(word_);
  }
  template <class Open>
  bool spin(Open open, int64_t spin_ns, uint32_t* v) {
    constexpr int kLooksPerClock = 16;
    const int64_t end = now_ns() + spin_ns;
    do {
      for (int i = 0; i < kLooksPerClock; ++i) {
        relax();
        if (open(*v = value())) return true;
      }
    } while (now_ns() < end);
    return false;
  }

  std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> sleepers_{0};
};

// Threads of a library must not take the host's signals.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

struct ThreadPool::Impl {
  Impl(int n_workers, bool oversubscribed) : n(n_workers), spin(oversubscribed) {}
  ~Impl() {
    stop = true;
    job.set(job.value() + 1);
    for (std::thread& t : threads) t.join();
  }

  void start() {
    const SignalsBlocked guard;
    threads.reserve(static_cast<size_t>(n - 1));
    for (int worker = 1; worker < n; ++worker) threads.emplace_back([this, worker] { work(worker); });
  }

  void work(int worker) {
    pthread_setname_np(pthread_self(), ("ingle-" + std::to_string(worker)).c_str());
    for (uint32_t seen = 0;;) {
      // How long the next job takes to come says nothing about lateness, so this wait leaves the budget
      // alone.
      bool slept = false;
      seen = job.wait([seen](uint32_t v) { return v != seen; }, spin.ns(), &slept);
      if (stop) return;
      call(worker);
      unfinished.subtract_one();
    }
  }

  void call(int worker) noexcept {
    try {
      function(argument, worker);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }

  void note(bool slept) {
    if (slept) {
      spin.ran_out();
    } else {
      spin.sufficed();
    }
  }

  const int n;
  SpinBudget spin;
  std::mutex turn;  // held for the whole of a run
  // Written by the caller before `job` moves on, read by workers after they have seen it move.
  void (*function)(void*, int) = nullptr;
  void* argument = nullptr;
  bool stop = false;
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // by the worker that set `failed`, read when all are through
  Gate job;                  // counts jobs
  Gate unfinished;           // workers that are still in the current job
  Gate phase;                // counts barriers
  alignas(64) std::atomic<uint32_t> arrived{0};
  std::vector<std::thread> threads;
};

ThreadPool::ThreadPool(int n_threads) {
  if (n_threads < 1 || n_threads > kMostThreads) {
    fail(Code::invalid_argument, "threads", format("{} threads, expected 1 to {}", n_threads, kMostThreads));
  }
  impl_ = std::make_unique<Impl>(n_threads, n_threads > 1 && n_threads > detect_cpu().logical_cores);
  try {
    if (n_threads > 1) impl_->start();
  } catch (const std::system_error& e) {
    fail(Code::out_of_memory, "threads", format("cannot start {} threads: {}", n_threads - 1, e.what()));
  }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::size() const { return impl_->n; }

void ThreadPool::run_raw(void (*f)(void*, int), void* arg) {
  Impl& pool = *impl_;
  const std::lock_guard lock(pool.turn);
  if (pool.n == 1) return f(arg, 0);
  pool.function = f;
  pool.argument = arg;
  pool.failed = false;
  pool.unfinished.set(static_cast<uint32_t>(pool.n - 1));
  pool.job.set(pool.job.value() + 1);
  pool.call(0);
  bool slept = false;
  pool.unfinished.wait([](uint32_t v) { return v == 0; }, pool.spin.ns(), &slept);
  pool.note(slept);
  if (pool.failed) std::rethrow_exception(std::exchange(pool.error, nullptr));
}

void ThreadPool::barrier(int /*worker*/) {
  Impl& pool = *impl_;
  if (pool.n == 1) return;
  // The phase cannot move before this worker has arrived, so the value read here is the one to wait past.
  const uint32_t before = pool.phase.value();
  if (pool.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(pool.n)) {
    pool.arrived.store(0, std::memory_order_relaxed);
    pool.phase.set(before + 1);
    return;
  }
  bool slept = false;
  pool.phase.wait([before](uint32_t v) { return v != before; }, pool.spin.ns(), &slept);
  pool.note(slept);
}

}  // namespace ingle
