// What an Engine holds: the core, its owner's thread, and the queues between it and everybody else.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "api/engine_core.h"

namespace ingle {

// Readable while there is something to take; nothing where the system has no such thing.
class Readiness {
 public:
  explicit Readiness(bool wanted);
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;
  int descriptor() const { return descriptor_; }
  void set(bool ready) noexcept;

 private:
  int descriptor_ = -1;
  bool ready_ = false;
};

struct Engine::Impl {
  Impl(const Model& model, const EngineOptions& options, EngineHooks hooks = {});
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // Its threads, where there are any, hold `self` until they end.
  void start(const std::shared_ptr<Impl>& self);
  void shut() noexcept;  // ends them

  RequestId submit(const Request& request);
  bool cancel(RequestId request);
  std::optional<EngineEvent> next(double timeout_s);
  bool step(double seconds);
  void pause(bool paused);
  bool drain(double timeout_s);
  EngineStats stats() const;
  int descriptor() const { return ready_.descriptor(); }

  const Model model;
  EngineCore core;  // the engine thread's, or the caller's of step()
  const EngineOptions options;

 private:
  PreparedRequest prepare(const Request& request) const;
  void check_queue(const PreparedRequest& request);
  void run();                                       // the engine thread
  void notify();                                    // the notifier thread
  void take_orders(std::unique_lock<std::mutex>&);  // inbox and cancels go to the core
  void work(std::unique_lock<std::mutex>&, double target);
  void publish() noexcept;
  bool paused_now() const;
  bool work_left() const { return !inbox_.empty() || !cancels_.empty() || has_work_; }

  mutable std::mutex mutex_;
  std::condition_variable wake_;     // the engine thread's
  std::condition_variable arrived_;  // events, or the end of the last request
  // Under the mutex:
  std::deque<PreparedRequest> inbox_;
  std::vector<RequestId> cancels_;
  std::deque<EngineEvent> outbox_;
  std::unordered_set<RequestId> live_;  // submitted, and without their last event
  RequestId last_id_ = 0;
  int64_t submitted_ = 0, refused_ = 0;
  int64_t inbox_tokens_ = 0;
  EngineSnapshot told_;  // of the core, as of its last step; what it took in since counts as waiting
  bool stop_ = false, paused_ = false, draining_ = false, has_work_ = false;
  bool telling_ = false;  // the notifier is inside on_event
  Readiness ready_;

  std::atomic<bool> pulling_{false}, stepping_{false};
  std::deque<PreparedRequest> taken_;  // the owner's scratch
  std::vector<RequestId> taken_cancels_;
  std::thread engine_thread_, notifier_thread_;
};

}  // namespace ingle
