// Reference-counted handles, told apart by a tag in their first bytes: a handle of another kind, one that was
// released or a pointer to something else is an error, not a crash (as far as the memory can still be read).
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace ingle::capi {

enum class Kind : uint32_t {
  error = 1,
  text,
  tokens,
  options,
  runtime,
  model,
  tokenizer,
  sampler,
  session,
  chat_template,
  engine,
  grammar,
  parser
};

constexpr uint32_t kTagBase = 0x1e91e500;  // the low byte is the kind; 0: released
constexpr int32_t kImmortal = -1;          // the count of a static object

struct Handle {
  constexpr explicit Handle(Kind kind, int32_t count = 1)
      : tag(kTagBase + static_cast<uint32_t>(kind)), references(count) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  mutable std::atomic<uint32_t> tag;
  mutable std::atomic<int32_t> references;
};

inline bool is(const Handle* handle, Kind kind) {
  return handle && handle->tag.load(std::memory_order_relaxed) == kTagBase + static_cast<uint32_t>(kind);
}

// Throws Code::invalid_argument naming the argument: it is NULL, of another kind, or no handle at all.
[[noreturn]] void refuse_handle(const Handle* handle, Kind wanted, const char* argument);

template <class T>
T& need(T* handle, const char* argument) {
  if (!is(handle, T::kKind)) refuse_handle(handle, T::kKind, argument);
  return *handle;
}

template <class T>
T* retain(T* handle) noexcept {
  if (!is(handle, T::kKind)) return nullptr;
  if (handle->references.load(std::memory_order_relaxed) != kImmortal)
    handle->references.fetch_add(1, std::memory_order_relaxed);
  return handle;
}

template <class T>
void release(T* handle) noexcept {
  if (!is(handle, T::kKind)) return;
  if (handle->references.load(std::memory_order_relaxed) == kImmortal) return;
  if (handle->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  handle->tag.store(kTagBase, std::memory_order_relaxed);
  delete handle;
}

// A handle that a call reads, kept alive to its end: a callback may release it.
template <class T>
class Kept {
 public:
  Kept(T* handle, const char* argument) : handle_(&need(handle, argument)) { retain(handle_); }
  ~Kept() { release(handle_); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  T* operator->() const { return handle_; }

 private:
  T* handle_;
};

// A handle for the length of one call: kept alive (a callback may release it) and for this call alone.
// T has `std::atomic<bool> in_use`.
template <class T>
class Exclusive {
 public:
  Exclusive(T* handle, const char* argument) : handle_(&need(handle, argument)) {
    if (handle_->in_use.exchange(true, std::memory_order_acquire)) refuse_busy(argument);
    retain(handle_);
  }
  ~Exclusive() {
    handle_->in_use.store(false, std::memory_order_release);
    release(handle_);
  }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;
  T* operator->() const { return handle_; }
  T& operator*() const { return *handle_; }

 private:
  [[noreturn]] static void refuse_busy(const char* argument);
  T* handle_;
};

[[noreturn]] void refuse_busy(const char* argument);  // Code::busy
template <class T>
void Exclusive<T>::refuse_busy(const char* argument) {
  capi::refuse_busy(argument);
}

}  // namespace ingle::capi
