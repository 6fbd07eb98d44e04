#include "text/template/lexer.h"

#include <charconv>

#include "core/format.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {
namespace {

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// Line ends become \n and a last one is dropped, as Jinja does before anything else.
std::string normalize(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : owned_(normalize(source)), src_(owned_) {}

  std::vector<Token> run() {
    while (at_ < src_.size()) lex_data();
    push(TokenKind::end, at_, "end of template");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail_at(size_t at, std::string message) {
    counted_ = line_start_ = 0, line_ = 1;  // tokens behind `at` may have been counted already
    throw SyntaxError{pos_of(at), {Code::unsupported, std::move(message)}};
  }

  Pos pos_of(size_t at) {
    for (; counted_ < at && counted_ < src_.size(); ++counted_) {
      if (src_[counted_] == '\n') ++line_, line_start_ = counted_ + 1;
    }
    return {line_, static_cast<uint32_t>(at >= line_start_ ? at - line_start_ + 1 : 1)};
  }

  void push(TokenKind kind, size_t at, std::string text) {
    tokens_.push_back({kind, pos_of(at), std::move(text)});
  }

  char peek(size_t offset = 0) const { return at_ + offset < src_.size() ? src_[at_ + offset] : '\0'; }
  bool starts(std::string_view what, size_t at) const { return src_.substr(at, what.size()) == what; }

  size_t skip_space(size_t at) const {
    while (at < src_.size()) {
      const CodePoint c = code_point_at(src_, at);
      if (!is_space(c.value)) break;
      at += c.size;
    }
    return at;
  }

  // The text before a tag, by the tag's sign.
  void emit_data(size_t begin, size_t end, char sign, bool may_lstrip) {
    std::string_view text = src_.substr(begin, end - begin);
    if (sign == '-') {
      text = strip(text, nullptr, false, true);
    } else if (sign != '+' && may_lstrip) {
      const size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
      if ((line > 0 || line_starting_) && strip(text.substr(line), nullptr, true, false).empty()) {
        text = text.substr(0, line);
      }
    }
    if (!text.empty()) push(TokenKind::data, begin, std::string(text));
  }

  size_t find_tag(size_t from) const {
    for (size_t i = src_.find('{', from); i != src_.npos; i = src_.find('{', i + 1)) {
      if (i + 1 < src_.size() && (src_[i + 1] == '%' || src_[i + 1] == '{' || src_[i + 1] == '#')) return i;
    }
    return src_.npos;
  }

  void lex_data() {
    const size_t begin = at_, tag = find_tag(begin);
    if (tag == src_.npos) {
      push(TokenKind::data, begin, std::string(src_.substr(begin)));
      at_ = src_.size();
      return;
    }
    const char type = src_[tag + 1];
    at_ = tag + 2;
    const char sign = peek() == '-' || peek() == '+' ? peek() : '\0';
    if (sign) ++at_;
    emit_data(begin, tag, sign, type != '{');
    line_starting_ = false;
    if (type == '#') {
      skip_comment(tag);
    } else if (type == '%' && lex_raw(tag)) {
      return;
    } else {
      lex_tag(tag, type == '{');
    }
  }

  void skip_newline_after(size_t at, char sign) {
    at_ = at;
    if (sign == '-') {
      at_ = skip_space(at_);
    } else if (sign != '+' && peek() == '\n') {
      ++at_;
    }
    line_starting_ = at_ > 0 && src_[at_ - 1] == '\n';
  }

  void skip_comment(size_t tag) {
    if (at_ == src_.size()) return;  // as Jinja: only what stands in an open comment is an error
    const size_t end = src_.find("#}", at_);
    if (end == src_.npos) fail_at(tag, "the comment is not closed: expected #}");
    skip_newline_after(end + 2, end > at_ ? src_[end - 1] : '\0');
  }

  // {% raw %}: its content is data up to {% endraw %}.
  bool lex_raw(size_t tag) {
    size_t at = skip_space(at_);
    if (!starts("raw", at)) return false;
    at = skip_space(at + 3);
    if (starts("-%}", at)) {
      at = skip_space(at + 3);
    } else if (starts("%}", at)) {
      at += 2;
    } else {
      return false;
    }
    for (size_t open = src_.find("{%", at); open != src_.npos; open = src_.find("{%", open + 1)) {
      size_t i = open + 2;
      const char sign = i < src_.size() && (src_[i] == '-' || src_[i] == '+') ? src_[i] : '\0';
      i = skip_space(sign ? i + 1 : i);
      if (!starts("endraw", i)) continue;
      i = skip_space(i + 6);
      const char closing = i < src_.size() && (src_[i] == '-' || src_[i] == '+') ? src_[i] : '\0';
      if (!starts("%}", closing ? i + 1 : i)) continue;
      line_starting_ = src_[at - 1] == '\n';
      emit_data(at, open, sign, true);
      skip_newline_after((closing ? i + 1 : i) + 2, closing);
      return true;
    }
    fail_at(tag, "the raw block is not closed: expected {% endraw %}");
  }

  void lex_tag(size_t tag, bool print) {
    push(print ? TokenKind::print_begin : TokenKind::block_begin, tag, print ? "{{" : "{%");
    std::string open;  // brackets not yet closed
    for (;;) {
      at_ = skip_space(at_);
      if (at_ >= src_.size())
        fail_at(tag, print ? "expected }} before the end" : "expected %} before the end");
      if (open.empty() && lex_tag_end(print)) return;
      lex_token(open);
    }
  }

  bool lex_tag_end(bool print) {
    const std::string_view close = print ? "}}" : "%}";
    const char sign = peek() == '-' || (peek() == '+' && !print) ? peek() : '\0';
    const size_t at = at_ + (sign ? 1 : 0);
    if (!starts(close, at)) return false;
    push(print ? TokenKind::print_end : TokenKind::block_end, at_, std::string(close));
    if (print) {
      at_ = sign ? skip_space(at + 2) : at + 2;
      line_starting_ = src_[at_ - 1] == '\n';
    } else {
      skip_newline_after(at + 2, sign);
    }
    return true;
  }

  void lex_token(std::string& open) {
    const char c = peek();
    if (is_decimal(c)) return lex_number();
    if (is_name_start(c)) {
      const size_t begin = at_;
      while (is_name_start(peek()) || is_decimal(peek())) ++at_;
      return push(TokenKind::name, begin, std::string(src_.substr(begin, at_ - begin)));
    }
    if (c == '\'' || c == '"') return lex_string();
    lex_operator(open);
  }

  void lex_operator(std::string& open) {
    const char c = peek();
    for (const std::string_view two : {"//", "**", "==", "!=", ">=", "<="}) {
      if (!starts(two, at_)) continue;
      push(TokenKind::op, at_, std::string(two));
      at_ += 2;
      return;
    }
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos || c == '\0') {
      fail_at(at_, format("unexpected character '{}'", src_.substr(at_, code_point_at(src_, at_).size)));
    }
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty()) fail_at(at_, format("unexpected '{}'", std::string(1, c)));
      if (open.back() != c)
        fail_at(at_,
                format("unexpected '{}', expected '{}'", std::string(1, c), open.substr(open.size() - 1)));
      open.pop_back();
    }
    push(TokenKind::op, at_, std::string(1, c));
    ++at_;
  }

  // Digits with single underscores between them.
  void digits(std::string& out) {
    while (is_decimal(peek()) || (peek() == '_' && is_decimal(peek(1)))) {
      if (peek() != '_') out += peek();
      ++at_;
    }
  }

  void lex_number() {
    const size_t begin = at_;
    const bool after_dot = begin > 0 && src_[begin - 1] == '.';
    if (peek() == '0' && !after_dot && std::string_view("xXoObB").find(peek(1)) != std::string_view::npos &&
        peek(1)) {
      return lex_based(begin, (peek(1) | 32) == 'x' ? 16 : (peek(1) | 32) == 'o' ? 8 : 2);
    }
    std::string text;
    digits(text);
    bool real = false;
    if (!after_dot && peek() == '.' && is_decimal(peek(1))) {
      real = true;
      text += '.';
      ++at_;
      digits(text);
    }
    const bool signed_exponent = (peek(1) == '+' || peek(1) == '-') && is_decimal(peek(2));
    if (!after_dot && (peek() | 32) == 'e' && (is_decimal(peek(1)) || signed_exponent)) {
      real = true;
      text += 'e';
      ++at_;
      if (!is_decimal(peek())) {
        if (peek() == '-') text += '-';
        ++at_;
      }
      digits(text);
    }
    push(real ? TokenKind::floating : TokenKind::integer, begin,
         std::string(src_.substr(begin, at_ - begin)));
    if (real) {
      std::from_chars(text.data(), text.data() + text.size(), tokens_.back().real);
      return;
    }
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of('0') != text.npos) {
      fail_at(begin, "an integer may not begin with 0");
    }
    set_integer(begin, text, 10);
  }

  void lex_based(size_t begin, int base) {
    at_ += 2;
    std::string text;
    while (is_decimal(peek()) || is_name_start(peek())) {
      if (peek() != '_') text += peek();
      ++at_;
    }
    push(TokenKind::integer, begin, std::string(src_.substr(begin, at_ - begin)));
    set_integer(begin, text, base);
  }

  void set_integer(size_t begin, std::string_view text, int base) {
    const auto end = text.data() + text.size();
    const auto got = std::from_chars(text.data(), end, tokens_.back().integer, base);
    if (got.ec != std::errc() || got.ptr != end) fail_at(begin, format("'{}' does not fit 64 bits", text));
  }

  void lex_string() {
    const size_t begin = at_;
    const char quote = src_[at_++];
    std::string value;
    for (;;) {
      if (at_ >= src_.size()) fail_at(begin, "the string is not closed");
      const char c = src_[at_];
      if (c == quote) break;
      if (c == '\\' && at_ + 1 < src_.size()) {
        lex_escape(value);
      } else {
        value += c;
        ++at_;
      }
    }
    ++at_;
    push(TokenKind::string, begin, std::move(value));
  }

  // Python's escapes; an unknown one stays as it is written.
  void lex_escape(std::string& value) {
    const size_t begin = at_;
    const char c = src_[at_ + 1];
    constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
    at_ += 2;
    if (c == '\n') return;
    if (const size_t i = kFrom.find(c); i != kFrom.npos) {
      value += kTo[i];
    } else if (c >= '0' && c <= '7') {
      uint32_t code = 0;
      --at_;
      for (int n = 0; n < 3 && peek() >= '0' && peek() <= '7'; ++n)
        code = code * 8 + static_cast<uint32_t>(src_[at_++] - '0');
      append_code_point(value, code);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const size_t width = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      uint32_t code = 0;
      const std::string_view hex = src_.substr(at_, width);
      const auto got = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
      if (hex.size() != width || got.ptr != hex.data() + width || code > 0x10FFFF ||
          (code >= 0xD800 && code < 0xE000)) {
        fail_at(begin, "the escape names no character");
      }
      append_code_point(value, code);
      at_ += width;
    } else if (c == 'N') {
      fail_at(begin, "named characters in strings are not supported");
    } else {
      value += '\\';
      --at_;
      value += src_[at_++];
    }
  }

  std::string owned_;
  std::string_view src_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool line_starting_ = true;
  size_t counted_ = 0, line_start_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace ingle::text::jinja
