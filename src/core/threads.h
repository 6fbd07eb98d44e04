// A team of threads for the phases of a step: bounded spin, then futex. Sized per runtime; nothing spins when
// idle.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace ingle {

class ThreadPool {
 public:
  explicit ThreadPool(int n_threads);  // the caller of run() is worker 0, so n_threads - 1 are started
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  int size() const;

  // Calls f(worker) once on every worker, 0 … size() - 1, and returns when all have returned; what the first
  // to throw threw is then thrown here. `f` must not call run(), nor throw where another waits at a barrier.
  // Calls from several threads take turns.
  template <class F>
  void run(F&& f) {
    run_raw([](void* p, int worker) { (*static_cast<std::remove_reference_t<F>*>(p))(worker); }, &f);
  }
  // Inside run() only: returns when every worker has arrived. What was written before is visible after.
  void barrier(int worker);

 private:
  void run_raw(void (*f)(void*, int), void* arg);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
