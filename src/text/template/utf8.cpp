#include "text/template/utf8.h"

namespace ingle::text::jinja {

CodePoint code_point_at(std::string_view text, size_t offset) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[offset + i]));
  };
  const uint32_t first = byte(0);
  const uint32_t size = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (size <= 1 || text.size() - offset < size) return {first, 1};
  uint32_t value = first & (0x7Fu >> size);
  for (uint32_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {first, 1};
    value = value << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  if (overlong || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {first, 1};
  return {value, size};
}

void append_code_point(std::string& out, uint32_t c) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    tail(12), tail(6), tail(0);
  }
}

size_t offset_before(std::string_view text, size_t offset) {
  do {
    --offset;
  } while (offset > 0 && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80);
  return offset;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (c.size == 1 && c.value >= 0x80) return false;
    i += c.size;
  }
  return true;
}

size_t count_code_points(std::string_view text) {
  size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

size_t offset_of(std::string_view text, size_t index) {
  size_t i = 0;
  for (; index > 0 && i < text.size(); --index) i += code_point_at(text, i).size;
  return i;
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

namespace {

bool in_set(uint32_t c, const std::string_view* set) {
  if (!set) return is_space(c);
  for (size_t i = 0; i < set->size();) {
    const CodePoint each = code_point_at(*set, i);
    if (each.value == c) return true;
    i += each.size;
  }
  return false;
}

}  // namespace

std::string_view strip(std::string_view text, const std::string_view* set, bool left, bool right) {
  while (left && !text.empty()) {
    const CodePoint c = code_point_at(text, 0);
    if (!in_set(c.value, set)) break;
    text.remove_prefix(c.size);
  }
  while (right && !text.empty()) {
    const size_t at = offset_before(text, text.size());
    if (!in_set(code_point_at(text, at).value, set)) break;
    text = text.substr(0, at);
  }
  return text;
}

}  // namespace ingle::text::jinja
