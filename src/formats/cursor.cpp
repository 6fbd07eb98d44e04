#include "formats/cursor.h"

#include <cstring>

#include "formats/names.h"

namespace ingle::formats {
namespace {
constexpr uint64_t kWindow = 64 * 1024;
}

std::string Cursor::where() const {
  std::string out = source_.name();
  if (!kind_.empty()) out += ", " + std::string(kind_) + " " + quote(name_);
  return out + format(", offset {}", offset_);
}

void Cursor::need(uint64_t n, uint64_t bytes_each, std::string_view what) const {
  if (n <= remaining() / bytes_each) return;
  fail(Code::corrupt, where(),
       format("{} needs {} × {} bytes or more, but only {} bytes of the file are left", what, n, bytes_each,
              remaining()),
       "the file is damaged or its download is incomplete");
}

void Cursor::bytes(std::span<std::byte> out, std::string_view what) {
  if (out.empty()) return;
  need(out.size(), 1, what);
  if (out.size() >= kWindow) {
    source_.read(offset_, out);
  } else {
    const bool inside = offset_ >= window_start_ && offset_ + out.size() <= window_start_ + window_.size();
    if (!inside) {
      window_.resize(std::min(kWindow, remaining()));
      window_start_ = offset_;
      source_.read(offset_, window_);
    }
    std::memcpy(out.data(), window_.data() + (offset_ - window_start_), out.size());
  }
  offset_ += out.size();
}

std::string Cursor::text(uint64_t max_bytes, std::string_view what) {
  const auto length = number<uint64_t>(what);
  if (length > max_bytes) {
    fail(Code::corrupt, where(), format("{} has {} bytes, at most {} are allowed", what, length, max_bytes));
  }
  need(length, 1, what);
  std::string out(length, '\0');
  bytes(std::as_writable_bytes(std::span(out)), what);
  return out;
}

}  // namespace ingle::formats
