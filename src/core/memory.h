// Memory by way of a user's allocator. Every large allocation of a model or session is a Buffer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace ingle {

// What a host program may supply. `allocate` may return null (Ingle then raises Code::out_of_memory); both
// may be called from any thread.
struct Allocator {
  void* (*allocate)(size_t bytes, size_t alignment, void* user);
  void (*release)(void* memory, size_t bytes, void* user);
  void* user = nullptr;
};
Allocator system_allocator() noexcept;

// What the system could give without swapping; a guess where it does not tell.
uint64_t available_memory();

// An aligned block of bytes, owned. Moves, never copies.
class Buffer {
 public:
  static constexpr size_t kAlignment = 64;
  Buffer() = default;
  Buffer(const Allocator& allocator, size_t bytes);  // uninitialised; throws Code::out_of_memory
  explicit Buffer(size_t bytes) : Buffer(system_allocator(), bytes) {}
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  void fill_zero();

 private:
  Allocator allocator_ = system_allocator();
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace ingle
