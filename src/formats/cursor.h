// Reads a header front to back through a small window, never from the mapping: a file that is cut short
// meanwhile is an error then. Nothing is allocated for a length before the bytes it promises are known to be
// there.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/file.h"

namespace ingle::formats {

static_assert(std::endian::native == std::endian::little,
              "file numbers are little-endian and read as they are");

class Cursor {
 public:
  explicit Cursor(const ByteSource& source) : source_(source), size_(source.size()) {}
  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return size_ - offset_; }

  // What the bytes from here on belong to ("key", its name), for errors. `name` is borrowed.
  void enter(std::string_view kind, std::string_view name) { kind_ = kind, name_ = name; }
  void leave() { kind_ = name_ = {}; }
  std::string where() const;  // "model.gguf, key 'general.name', offset 40"

  // Each throws Code::corrupt when the file ends first; `what` says what was being read.
  void bytes(std::span<std::byte> out, std::string_view what);
  template <class T>
  T number(std::string_view what) {
    T value;
    bytes(std::as_writable_bytes(std::span(&value, 1)), what);
    return value;
  }
  // A u64 length and that many bytes, at most `max_bytes`.
  std::string text(uint64_t max_bytes, std::string_view what);
  // `n` numbers stored as T, widened to Wide. Memory grows with what has been read, not with what was
  // promised.
  template <class T, class Wide>
  std::vector<Wide> numbers(uint64_t n, std::string_view what) {
    need(n, sizeof(T), what);
    std::vector<Wide> out;
    std::array<T, 512> block;
    for (uint64_t done = 0; done < n;) {
      const auto part = std::span(block).first(std::min<uint64_t>(n - done, block.size()));
      bytes(std::as_writable_bytes(part), what);
      out.insert(out.end(), part.begin(), part.end());
      done += part.size();
    }
    return out;
  }
  // Throws unless `n` things of at least `bytes_each` (not 0) still fit into the file.
  void need(uint64_t n, uint64_t bytes_each, std::string_view what) const;

 private:
  const ByteSource& source_;
  uint64_t size_;
  uint64_t offset_ = 0;
  std::string_view kind_, name_;
  std::vector<std::byte> window_;
  uint64_t window_start_ = 0;
};

}  // namespace ingle::formats
