// Letter case and classes, beyond ASCII from a table.
#include "text/template/utf8.h"

namespace ingle::text::jinja {

namespace {
uint32_t upper_of(uint32_t c) { return c >= 'a' && c <= 'z' ? c - 32 : c; }
uint32_t lower_of(uint32_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
}  // namespace

bool is_upper(uint32_t c) { return lower_of(c) != c; }
bool is_lower(uint32_t c) { return upper_of(c) != c; }
bool is_alpha(uint32_t c) { return is_upper(c) || is_lower(c) || c >= 0x80; }
bool is_digit(uint32_t c) { return c >= '0' && c <= '9'; }
bool is_printable(uint32_t c) { return c >= 0x20 && c != 0x7F && !(c >= 0x80 && c <= 0xA0) && c != 0xAD; }

std::string change_case(std::string_view text, CaseRule rule) {
  std::string out;
  out.reserve(text.size());
  bool inside_word = false, first = true;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (c.size == 1 && c.value >= 0x80) {
      out += text[i++];
      continue;
    }
    bool up = rule == CaseRule::upper;
    if (rule == CaseRule::title) up = !inside_word;
    if (rule == CaseRule::capitalize) up = first;
    if (rule == CaseRule::swap) up = is_lower(c.value);
    append_code_point(out, up ? upper_of(c.value) : lower_of(c.value));
    inside_word = is_upper(c.value) || is_lower(c.value);
    first = false;
    i += c.size;
  }
  return out;
}

}  // namespace ingle::text::jinja
