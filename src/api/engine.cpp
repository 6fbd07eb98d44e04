#include "ingle/engine.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include "api/engine_impl.h"
#include "core/error.h"

#if defined(__linux__)
#include <sys/eventfd.h>
#include <unistd.h>
#endif

namespace ingle {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kLongest = 1e8;  // seconds that a wait may be told; longer ones have no end

// One caller at a time.
class Turn {
 public:
  Turn(std::atomic<bool>& taken, const char* what) : taken_(taken) {
    if (taken_.exchange(true, std::memory_order_acquire))
      fail(Code::busy, what, "another call is inside it", "one thread at a time");
  }
  ~Turn() { taken_.store(false, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<bool>& taken_;
};

// Waits until `done`, so many seconds at most; negative: without end.
template <class Done>
void wait_for(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, double seconds,
              Done done) {
  if (seconds < 0 || seconds > kLongest)
    condition.wait(lock, done);
  else
    condition.wait_for(lock, Seconds(seconds), done);
}

uint64_t hash_of(const std::string& text) { return std::hash<std::string>{}(text); }

}  // namespace

Readiness::Readiness([[maybe_unused]] bool wanted) {
#if defined(__linux__)
  if (wanted) descriptor_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
#endif
}
Readiness::~Readiness() {
#if defined(__linux__)
  if (descriptor_ >= 0) close(descriptor_);
#endif
}
void Readiness::set(bool ready) noexcept {
  if (ready == ready_) return;
  ready_ = ready;
#if defined(__linux__)
  uint64_t one = 1;
  if (descriptor_ < 0) return;
  // Neither can fail: the count is 0 or 1.
  [[maybe_unused]] const ssize_t n =
      ready ? write(descriptor_, &one, sizeof one) : read(descriptor_, &one, sizeof one);
#endif
}

Engine::Impl::Impl(const Model& m, const EngineOptions& o, EngineHooks hooks)
    : model(m), core(m, o, std::move(hooks)), options(core.options()), ready_(!o.on_event) {
  core.snapshot(told_);
}

void Engine::Impl::start(const std::shared_ptr<Impl>& self) {
  try {
    if (options.own_thread) engine_thread_ = std::thread([self] { self->run(); });
    // The callback goes last: what it holds may be what the engine's memory comes from.
    if (options.on_event)
      notifier_thread_ = std::thread([me = std::shared_ptr<Impl>(self), last = options.on_event]() mutable {
        me->notify();
        me.reset();
      });
  } catch (const std::exception& e) {
    shut();
    fail(Code::out_of_memory, "engine", format("cannot start a thread: {}", e.what()));
  }
}

void Engine::Impl::shut() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  core.stop();
  wake_.notify_all();
  arrived_.notify_all();
  for (std::thread* t : {&engine_thread_, &notifier_thread_}) {
    if (!t->joinable()) continue;
    if (t->get_id() == std::this_thread::get_id())
      t->detach();  // inside on_event: it ends when that returns
    else
      t->join();
  }
}

PreparedRequest Engine::Impl::prepare(const Request& r) const {
  if (r.band < 0 || r.band >= engine::kBands)
    fail(Code::invalid_argument, "band", format("is {}, expected 0 to {}", r.band, engine::kBands - 1));
  if (!(r.deadline_s >= 0 && r.deadline_s <= kLongest))
    fail(Code::invalid_argument, "deadline",
         format("is {} seconds, expected 0 to {}", r.deadline_s, kLongest));
  if (!(r.keep_s >= 0 && r.keep_s <= kLongest))
    fail(Code::invalid_argument, "keep", format("is {} seconds, expected 0 to {}", r.keep_s, kLongest));
  check(r.generate);
  PreparedRequest p;
  if (const auto* ids = std::get_if<std::vector<TokenId>>(&r.prompt))
    p.tokens = *ids;
  else if (const auto* text = std::get_if<std::string>(&r.prompt))
    p.tokens = model.tokenizer().encode(*text, r.encode);
  else if (const auto* chat = std::get_if<ChatJson>(&r.prompt))
    p.tokens = encode_chat(*model.impl(), chat->text);
  else
    p.tokens = encode_chat(*model.impl(), std::get<std::vector<Message>>(r.prompt));
  if (p.tokens.empty()) fail(Code::invalid_argument, "prompt", "is empty", "a prompt has at least one token");
  const int64_t n_vocab = model.impl()->runner->plan().n_vocab;
  for (const TokenId id : p.tokens)
    if (id < 0 || id >= n_vocab)
      fail(Code::invalid_argument, "prompt", format("token id {} is not in [0, {})", id, n_vocab));
  const auto n = static_cast<int64_t>(p.tokens.size());
  if (n > options.context)
    fail(Code::context_full, "prompt", format("{} tokens do not fit the context of {}", n, options.context));
  const int64_t most = r.generate.max_tokens < 0 ? options.context : r.generate.max_tokens;
  core.check_fits(n, std::min(most, options.context - n + 1));
  if (!r.generate.banned_phrases.empty())
    fail(Code::unsupported, "request", "banned_phrases takes tokens back, which sessions alone can");
  p.answer = std::make_unique<Answer>(*model.impl(), r.generate, p.tokens);
  p.sampler = Sampler(r.sampler);
  p.calls_host = !r.sampler.custom.empty();
  p.band = r.band;
  p.tenant = hash_of(r.tenant);
  p.salt = r.salt;
  p.keep = r.keep_s;
  p.submitted = core.now();
  if (r.deadline_s > 0) p.deadline = p.submitted + r.deadline_s;
  return p;
}

// Under the mutex.
void Engine::Impl::check_queue(const PreparedRequest& p) {
  const auto refuse = [&](std::string what, std::string hint) {
    ++refused_;
    fail(Code::busy, "engine", std::move(what), std::move(hint));
  };
  if (stop_ || draining_) refuse("takes no more requests: it drains", "resume() ends a drain");
  const int64_t waiting = told_.waiting + static_cast<int64_t>(inbox_.size());
  const std::string later = format("in about {:.1f} seconds there may be room", told_.estimated_wait);
  if (waiting >= options.max_queued) refuse(format("{} requests wait already", waiting), later);
  const int64_t tokens = told_.waiting_tokens + inbox_tokens_;
  const auto n = static_cast<int64_t>(p.tokens.size());
  if (options.max_queued_tokens > 0 && tokens > 0 && tokens + n > options.max_queued_tokens)
    refuse(format("{} prompt tokens wait already, and {} more would be over {}", tokens, n,
                  options.max_queued_tokens),
           later);
  if (options.max_wait_s > 0 && told_.estimated_wait > options.max_wait_s)
    refuse(format("it would wait for about {:.1f} seconds, and the bound is {:.1f}", told_.estimated_wait,
                  options.max_wait_s),
           later);
}

RequestId Engine::Impl::submit(const Request& request) {
  PreparedRequest p = prepare(request);
  RequestId id = 0;
  {
    const std::lock_guard lock(mutex_);
    check_queue(p);
    id = p.id = last_id_ + 1;
    inbox_tokens_ += static_cast<int64_t>(p.tokens.size());
    live_.insert(id);
    try {
      inbox_.push_back(std::move(p));
    } catch (...) {
      live_.erase(id);
      throw;
    }
    ++last_id_;
    ++submitted_;
  }
  wake_.notify_one();
  return id;
}

bool Engine::Impl::cancel(RequestId request) {
  {
    const std::lock_guard lock(mutex_);
    if (!live_.count(request)) return false;
    cancels_.push_back(request);
  }
  wake_.notify_one();
  return true;
}

// Before a step: what came in. The core is the caller's of this alone, so the lock is not needed for it.
// Nothing is allocated once something was taken, so that no order is lost.
void Engine::Impl::take_orders(std::unique_lock<std::mutex>& lock) {
  taken_.clear();
  try {
    core.expect(inbox_.size() + cancels_.size());
  } catch (const std::exception&) {
    lock.unlock();
    return;  // they stay where they are until there is memory
  }
  taken_.swap(inbox_);
  taken_cancels_.clear();
  taken_cancels_.swap(cancels_);
  told_.waiting += static_cast<int64_t>(taken_.size());
  told_.waiting_tokens += std::exchange(inbox_tokens_, 0);
  has_work_ |= !taken_.empty();
  core.pause(paused_);
  lock.unlock();
  for (PreparedRequest& p : taken_) {
    const RequestId id = p.id;
    try {
      core.submit(std::move(p));
    } catch (const Error& e) {
      core.refuse(id, e);
    } catch (const std::exception&) {
      core.refuse(id, core.no_memory());
    }
  }
  for (const RequestId id : taken_cancels_) core.cancel(id);
}

// After a step: what came of it. Events for which there is no memory now come with the next step.
void Engine::Impl::publish() noexcept {
  const std::lock_guard lock(mutex_);
  std::vector<EngineEvent>& events = core.events();
  size_t n = 0;
  try {
    for (; n < events.size(); ++n) {
      outbox_.push_back(std::move(events[n]));
      if (outbox_.back().event.finish != Finish::none) live_.erase(outbox_.back().request);
    }
  } catch (const std::exception&) {
  }
  events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(n));
  core.snapshot(told_);
  has_work_ = core.has_work() || !events.empty();
  ready_.set(!outbox_.empty());
  arrived_.notify_all();
}

void Engine::Impl::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    const auto ready = [this] {
      return stop_ || !inbox_.empty() || !cancels_.empty() || (has_work_ && !paused_);
    };
    if (paused_ && has_work_)  // deadlines go on
      wake_.wait_for(lock, std::chrono::milliseconds(20), ready);
    else
      wake_.wait(lock, ready);
    if (stop_) return;
    work(lock, 0);
  }
}

void Engine::Impl::work(std::unique_lock<std::mutex>& lock, double target) {
  try {
    take_orders(lock);
    core.step(target);
  } catch (const Error& e) {
    core.fail_all(e);
  } catch (const std::exception&) {
    core.fail_all(core.no_memory());
  }
  publish();
}

bool Engine::Impl::step(double seconds) {
  if (options.own_thread)
    fail(Code::invalid_argument, "step", "the engine has a thread of its own",
         "make it with own_thread = false");
  const Turn turn(stepping_, "step");
  const double end = core.now() + std::max(seconds, 0.0);
  for (double left = seconds;; left = end - core.now()) {
    std::unique_lock lock(mutex_);
    if (!work_left()) return false;
    work(lock, std::max(left, 0.0));
    if (core.now() >= end || paused_now()) break;
  }
  const std::lock_guard lock(mutex_);
  return work_left();
}

std::optional<EngineEvent> Engine::Impl::next(double timeout_s) {
  if (options.on_event)
    fail(Code::invalid_argument, "next", "events go to on_event", "make the engine without it");
  const Turn turn(pulling_, "next");
  std::unique_lock lock(mutex_);
  if (options.own_thread)
    wait_for(arrived_, lock, timeout_s,
             [&] { return !outbox_.empty() || stop_ || (timeout_s < 0 && live_.empty()); });
  if (outbox_.empty()) return std::nullopt;
  EngineEvent event = std::move(outbox_.front());
  outbox_.pop_front();
  ready_.set(!outbox_.empty());
  return event;
}

void Engine::Impl::notify() {
  std::deque<EngineEvent> events;
  for (;;) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return stop_ || !outbox_.empty(); });
    if (stop_) return;
    events.swap(outbox_);
    telling_ = true;
    lock.unlock();
    for (const EngineEvent& e : events) {
      try {
        options.on_event(e);
      } catch (...) {  // it must not; the engine goes on all the same
      }
    }
    events.clear();
    lock.lock();
    telling_ = false;
    arrived_.notify_all();
  }
}

void Engine::Impl::pause(bool paused) {
  {
    const std::lock_guard lock(mutex_);
    paused_ = paused;
    if (!paused) draining_ = false;
  }
  wake_.notify_one();
}

bool Engine::Impl::drain(double timeout_s) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  const auto done = [this] {
    return stop_ || (live_.empty() && !telling_ && (!options.on_event || outbox_.empty()));
  };
  if (options.own_thread) {
    wait_for(arrived_, lock, timeout_s, done);
    return live_.empty();
  }
  lock.unlock();
  const double end = core.now() + (timeout_s < 0 ? kLongest : timeout_s);
  while (core.now() < end && step(0)) {
    if (paused_now()) break;
  }
  lock.lock();
  return live_.empty();
}

bool Engine::Impl::paused_now() const {
  const std::lock_guard lock(mutex_);
  return paused_;
}

EngineStats Engine::Impl::stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats s = told_.told();
  s.submitted = submitted_;
  s.refused = refused_;
  return s;
}

Engine::Engine(const Model& model, const EngineOptions& options)
    : impl_(std::make_shared<Impl>(model, options)) {
  impl_->start(impl_);
}
Engine::Engine(Engine&& other) noexcept = default;
Engine& Engine::operator=(Engine&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Engine::~Engine() {
  if (impl_) impl_->shut();
}

RequestId Engine::submit(const Request& request) { return impl_->submit(request); }
bool Engine::cancel(RequestId request) { return impl_->cancel(request); }
std::optional<EngineEvent> Engine::next(double timeout_s) { return impl_->next(timeout_s); }
int Engine::event_descriptor() const { return impl_->descriptor(); }
bool Engine::step(double seconds) { return impl_->step(seconds); }
void Engine::pause() { impl_->pause(true); }
void Engine::resume() { impl_->pause(false); }
bool Engine::drain(double timeout_s) { return impl_->drain(timeout_s); }
EngineStats Engine::stats() const { return impl_->stats(); }
const Model& Engine::model() const { return impl_->model; }

}  // namespace ingle
