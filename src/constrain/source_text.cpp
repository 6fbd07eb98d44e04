#include "constrain/source_text.h"

#include <algorithm>

#include "constrain/utf8_ranges.h"

namespace ingle::constrain {

uint32_t SourceText::next_code_point() {
  const auto lead = static_cast<unsigned char>(text_[at_]);
  const size_t n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead >= 0x80 && (lead < 0xC2 || lead > 0xF4 || at_ + n > text_.size())) wrong("text that is not UTF-8");
  uint32_t c = n == 1 ? lead : lead & (0x7Fu >> n);
  for (size_t i = 1; i < n; ++i) {
    const auto byte = static_cast<unsigned char>(text_[at_ + i]);
    if ((byte & 0xC0) != 0x80) wrong("text that is not UTF-8");
    c = c << 6 | (byte & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kLeast[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) wrong("text that is not UTF-8");
  at_ += n;
  return c;
}

uint32_t SourceText::hex(int n) {
  uint32_t value = 0;
  for (int i = 0; i < n; ++i, ++at_) {
    const char c = peek();
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) wrong("an escape without its hexadecimal digits");
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  return value;
}

uint32_t SourceText::character(std::string_view controls, std::string_view themselves) {
  const size_t begin = at_;
  if (!take("\\")) return next_code_point();
  if (done()) wrong("an escape that does not end");
  const char c = peek();
  skip(1);
  constexpr std::string_view kNames = "nrtf", kControls = "\n\r\t\f";
  if (controls.find(c) != controls.npos) return static_cast<uint32_t>(kControls[kNames.find(c)]);
  if (themselves.find(c) != themselves.npos) return static_cast<uint32_t>(c);
  const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits == 0) wrong_at("an escape that is not known", begin);
  const uint32_t value = hex(digits);
  if (value > kMaxCodePoint || (value >= 0xD800 && value < 0xE000))
    wrong_at("an escape that is no code point", begin);
  return value;
}

std::string SourceText::position(size_t at) const {
  const std::string_view before = text_.substr(0, at);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t begin = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  const auto column = std::count_if(before.begin() + static_cast<ptrdiff_t>(begin), before.end(),
                                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return format("line {}, column {}", lines + 1, column + 1);
}

}  // namespace ingle::constrain
