#include "text/tools/json_scan.h"

#include "text/template/utf8.h"

namespace ingle::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

JsonScan::Step JsonScan::end_value() {
  in_ = In::after;
  return open_.empty() ? Step::last : Step::more;
}

JsonScan::Step JsonScan::close(bool object) {
  if (open_.empty() || open_.back() != object) return Step::bad;
  open_.pop_back();
  return end_value();
}

JsonScan::Step JsonScan::begin_value(char c) {
  const auto go = [&](In in) {
    in_ = in;
    return Step::more;
  };
  if (c == '{' || c == '[') {
    if (open_.size() >= kMaxJsonDepth) return Step::bad;
    open_.push_back(c == '{');
    return go(c == '{' ? In::first_key : In::first_value);
  }
  is_key_ = false;
  left_ = 1;
  if (c == '"') return go(In::string);
  if (c == '-') return go(In::minus);
  if (c == '0') return go(In::zero);
  if (is_digit(c)) return go(In::whole_part);
  word_ = c == 't' ? "true" : c == 'f' ? "false" : c == 'n' ? "null" : nullptr;
  return word_ ? go(In::literal) : Step::bad;
}

JsonScan::Step JsonScan::after_number(char c) {
  in_ = In::after;
  return open_.empty() ? Step::before : push(c);  // once: `after` does not come back here
}

JsonScan::Step JsonScan::number(char c) {
  const auto go = [&](In in) {
    in_ = in;
    return Step::more;
  };
  const bool e = c == 'e' || c == 'E';
  switch (in_) {
    case In::minus:
      return c == '0' ? go(In::zero) : is_digit(c) ? go(In::whole_part) : Step::bad;
    case In::zero:
    case In::whole_part:
      if (in_ == In::whole_part && is_digit(c)) return Step::more;
      return c == '.' ? go(In::point) : e ? go(In::exponent) : after_number(c);
    case In::point:
      return is_digit(c) ? go(In::fraction) : Step::bad;
    case In::fraction:
      return is_digit(c) ? Step::more : e ? go(In::exponent) : after_number(c);
    case In::exponent:
      if (c == '+' || c == '-') return go(In::exponent_sign);
      [[fallthrough]];
    case In::exponent_sign:
      return is_digit(c) ? go(In::exponent_part) : Step::bad;
    default:  // exponent_part
      return is_digit(c) ? Step::more : after_number(c);
  }
}

JsonScan::Step JsonScan::push(char c) {
  switch (in_) {
    case In::value:
      return is_space(c) ? Step::more : begin_value(c);
    case In::first_value:
      if (c == ']') return close(false);
      return is_space(c) ? Step::more : begin_value(c);
    case In::string:
      if (c == '\\') in_ = In::escape;
      if (c != '"') return static_cast<unsigned char>(c) < 0x20 ? Step::bad : Step::more;
      if (!is_key_) return end_value();
      in_ = In::colon;
      return Step::more;
    case In::escape:
      if (std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos) return Step::bad;
      in_ = c == 'u' ? In::hex : In::string;
      left_ = 4;
      return Step::more;
    case In::hex:
      if (hex_value(c) < 0) return Step::bad;
      if (--left_ == 0) in_ = In::string;
      return Step::more;
    case In::literal:
      if (c != word_[left_]) return Step::bad;
      return word_[++left_] == '\0' ? end_value() : Step::more;
    case In::first_key:
      if (c == '}') return close(true);
      [[fallthrough]];
    case In::key:
      if (is_space(c)) return Step::more;
      if (c != '"') return Step::bad;
      is_key_ = true;
      in_ = In::string;
      return Step::more;
    case In::colon:
      if (c == ':') in_ = In::value;
      return c == ':' || is_space(c) ? Step::more : Step::bad;
    case In::after:
      if (is_space(c)) return Step::more;
      if (c == '}' || c == ']') return close(c == '}');
      if (c != ',' || open_.empty()) return Step::bad;
      in_ = open_.back() ? In::key : In::value;
      return Step::more;
    default:
      return number(c);
  }
}

bool JsonScan::whole() const {
  if (!open_.empty()) return false;
  return in_ == In::after || in_ == In::zero || in_ == In::whole_part || in_ == In::fraction ||
         in_ == In::exponent_part;
}

bool is_json(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  JsonScan scan;
  for (size_t i = 0; i < text.size(); ++i) {
    const JsonScan::Step step = scan.push(text[i]);
    if (step == JsonScan::Step::last) return i + 1 == text.size();
    if (step != JsonScan::Step::more) return false;
  }
  return scan.whole();
}

namespace {

uint32_t four_hex(std::string_view digits) {
  uint32_t value = 0;
  for (const char c : digits) value = value * 16 + static_cast<uint32_t>(hex_value(c));
  return value;
}

}  // namespace

std::string unquote_json(std::string_view quoted) {
  const std::string_view in = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] != '\\') {
      out += in[i];
      continue;
    }
    const char c = in[++i];
    const size_t plain = std::string_view("\"\\/bfnrt").find(c);
    if (plain != std::string_view::npos) {
      out += "\"\\/\b\f\n\r\t"[plain];
      continue;
    }
    uint32_t unit = four_hex(in.substr(i + 1, 4));
    i += 4;
    if (unit >= 0xD800 && unit < 0xDC00 && in.substr(i + 1, 2) == "\\u") {
      const uint32_t low = four_hex(in.substr(i + 3, 4));
      if (low >= 0xDC00 && low < 0xE000) {
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        i += 6;
      }
    }
    jinja::append_code_point(out, unit >= 0xD800 && unit < 0xE000 ? 0xFFFD : unit);
  }
  return out;
}

void append_quoted(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace ingle::text
