#include "core/memory.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/file.h"

namespace ingle {
namespace {

void* system_allocate(size_t bytes, size_t alignment, void*) {
  const size_t rounded = (bytes + alignment - 1) & ~(alignment - 1);
  return rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded ? rounded : alignment);
}
void system_release(void* memory, size_t, void*) { std::free(memory); }

}  // namespace

uint64_t available_memory() {
  constexpr uint64_t kGuess = uint64_t{2} << 30;
  const std::string text = read_system_text("/proc/meminfo");
  constexpr std::string_view kKey = "MemAvailable:";
  const size_t at = text.find(kKey);
  if (at == std::string::npos) return kGuess;
  uint64_t kib = 0;
  const size_t number = text.find_first_not_of(' ', at + kKey.size());
  if (number != std::string::npos) std::from_chars(text.data() + number, text.data() + text.size(), kib);
  return kib ? kib * 1024 : kGuess;
}

Allocator system_allocator() noexcept { return {system_allocate, system_release, nullptr}; }

Buffer::Buffer(const Allocator& allocator, size_t bytes) : allocator_(allocator), size_(bytes) {
  data_ = static_cast<std::byte*>(allocator_.allocate(bytes, kAlignment, allocator_.user));
  if (!data_) fail(Code::out_of_memory, "allocator", format("no memory for {} bytes", bytes));
}

Buffer::~Buffer() {
  if (data_) allocator_.release(data_, size_, allocator_.user);
}

Buffer::Buffer(Buffer&& other) noexcept
    : allocator_(other.allocator_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void Buffer::fill_zero() { std::memset(data_, 0, size_); }

}  // namespace ingle
