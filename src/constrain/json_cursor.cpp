#include "constrain/json_cursor.h"

#include <algorithm>

#include "constrain/utf8_ranges.h"

namespace ingle::constrain {
namespace {

// Whether some code point of the range may follow. Halves of pairs are none.
bool can_step(const Dfa& dfa, int32_t state, uint32_t low, uint32_t high, int64_t room) {
  const bool any = low < 0xD800 || high > 0xDFFF;
  return any && (&dfa == any_text().get() || steps_on_range(dfa, state, low, high, room));
}

// Code points behind the one that has begun; -1: any number. (There is room for that one.)
int64_t room(int64_t length, int64_t high) { return high < 0 ? -1 : high - length - 1; }

int hex_value(uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

uint32_t joined(uint32_t high, uint32_t low) { return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00); }

}  // namespace

Step StringCursor::character(uint32_t code_point, const Dfa& dfa, int64_t high, std::string* decoded) {
  state = step_code_point(dfa, state, code_point);
  ++length;
  stage = 0;
  code = high_surrogate = 0;
  if (decoded) {
    uint8_t bytes[4];
    const int n = encode_utf8(code_point, bytes);
    decoded->append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(n));
  }
  return state < 0 || !dfa.ends_within(state, length, high) ? Step::dead : Step::more;
}

Step StringCursor::take(uint8_t byte, const Dfa& dfa, int64_t high, std::string* decoded) {
  if (stage == 1 || stage >= 6) return escape(byte, dfa, high, decoded);
  if (stage >= 2) return digit(byte, dfa, high, decoded);
  if (byte == '"') return dfa.label[static_cast<size_t>(state)] >= 0 ? Step::closed : Step::dead;
  if (byte == '\\') {
    if (open_bytes) return Step::dead;
    stage = 1;
    if (high >= 0 && length >= high) return Step::dead;
    return can_step(dfa, state, 0, kMaxCodePoint, room(length, high)) ? Step::more : Step::dead;
  }
  if (byte < 0x20) return Step::dead;
  state = dfa.step(state, byte);
  const bool continues = (byte & 0xC0) == 0x80;
  length += !continues;
  open_bytes = continues      ? static_cast<uint8_t>(open_bytes - 1)
               : byte >= 0xF0 ? 3
               : byte >= 0xE0 ? 2
               : byte >= 0xC0 ? 1
                              : 0;
  if (decoded) *decoded += static_cast<char>(byte);
  return state < 0 || !dfa.ends_within(state, length, high) ? Step::dead : Step::more;
}

Step StringCursor::escape(uint8_t byte, const Dfa& dfa, int64_t high, std::string* decoded) {
  if (stage == 6) {  // a high surrogate is followed by a low one
    stage = 7;
    return byte == '\\' ? Step::more : Step::dead;
  }
  if (byte == 'u') {
    stage = 2;
    code = 0;
    return Step::more;
  }
  if (stage == 7) return Step::dead;
  switch (byte) {
    case '"':
    case '\\':
    case '/':
      return character(byte, dfa, high, decoded);
    case 'b':
      return character('\b', dfa, high, decoded);
    case 'f':
      return character('\f', dfa, high, decoded);
    case 'n':
      return character('\n', dfa, high, decoded);
    case 'r':
      return character('\r', dfa, high, decoded);
    case 't':
      return character('\t', dfa, high, decoded);
    default:
      return Step::dead;
  }
}

Step StringCursor::digit(uint8_t byte, const Dfa& dfa, int64_t high, std::string* decoded) {
  const int value = hex_value(byte);
  if (value < 0) return Step::dead;
  code = code << 4 | static_cast<uint32_t>(value);
  const int left = 5 - stage++;  // digits to come
  const int64_t after = room(length, high);
  const uint32_t low = code << (4 * left), top = low | ((1u << (4 * left)) - 1);
  if (high_surrogate) {
    const uint32_t from = std::max(low, 0xDC00u), to = std::min(top, 0xDFFFu);
    if (from > to) return Step::dead;
    if (left == 0) return character(joined(high_surrogate, code), dfa, high, decoded);
    return can_step(dfa, state, joined(high_surrogate, from), joined(high_surrogate, to), after) ? Step::more
                                                                                                 : Step::dead;
  }
  const uint32_t from = std::max(low, 0xD800u), to = std::min(top, 0xDBFFu);
  const bool pairs = from <= to && can_step(dfa, state, joined(from, 0xDC00), joined(to, 0xDFFF), after);
  if (left > 0) return pairs || can_step(dfa, state, low, top, after) ? Step::more : Step::dead;
  if (code >= 0xD800 && code <= 0xDBFF) {
    high_surrogate = code;
    stage = 6;
    return pairs ? Step::more : Step::dead;
  }
  if (code >= 0xDC00 && code <= 0xDFFF) return Step::dead;
  return character(code, dfa, high, decoded);
}

Step NumberCursor::take(uint8_t byte) {
  const bool is_digit = byte >= '0' && byte <= '9';
  const bool e = byte == 'e' || byte == 'E';
  uint8_t next = 0;
  switch (stage) {
    case 0:
      next = byte == '-' ? 1 : byte == '0' ? 2 : is_digit ? 3 : 0;
      break;
    case 1:
      next = byte == '0' ? 2 : is_digit ? 3 : 0;
      break;
    case 2:
      next = byte == '.' ? 4 : e ? 6 : 0;
      break;
    case 3:
      next = is_digit ? 3 : byte == '.' ? 4 : e ? 6 : 0;
      break;
    case 4:
      next = is_digit ? 5 : 0;
      break;
    case 5:
      next = is_digit ? 5 : e ? 6 : 0;
      break;
    case 6:
      next = byte == '-' || byte == '+' ? 7 : is_digit ? 8 : 0;
      break;
    case 7:
    case 8:
      next = is_digit ? 8 : 0;
      break;
    default:
      break;
  }
  if (!next) return Step::dead;
  stage = next;
  text += static_cast<char>(byte);
  return Step::more;
}

}  // namespace ingle::constrain
