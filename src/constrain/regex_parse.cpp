#include <optional>

#include "constrain/regex_tree.h"
#include "constrain/utf8_ranges.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

using Kind = RegexNode::Kind;
constexpr int kMaxDepth = 200;
constexpr int64_t kMaxRepeat = 100'000;

class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  RegexNode run() {
    RegexNode node = choice(0);
    if (at_ < text_.size()) wrong("an unmatched ')'");
    return node;
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    fail(Code::invalid_argument, where_, format("{} at byte {} of the regular expression", what, at_));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(Code::unsupported, where_, format("{} at byte {} of the regular expression", what, at_));
  }
  bool done() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(std::string_view s) {
    if (!text_.substr(at_).starts_with(s)) return false;
    at_ += s.size();
    return true;
  }

  static RegexNode of(CodePoints set) {
    RegexNode n;
    n.kind = Kind::set;
    n.set = std::move(set);
    return n;
  }

  RegexNode choice(int depth) {
    if (depth > kMaxDepth) refuse(format("groups nested deeper than {}", kMaxDepth));
    RegexNode out;
    out.kind = Kind::choice;
    do {
      out.children.push_back(sequence(depth));
    } while (take("|"));
    return out.children.size() == 1 ? std::move(out.children.front()) : std::move(out);
  }

  RegexNode sequence(int depth) {
    RegexNode out;
    while (!done() && peek() != '|' && peek() != ')') out.children.push_back(repeated(atom(depth)));
    return out;
  }

  RegexNode repeated(RegexNode node) {
    int64_t low = 0, high = -1;
    if (take("?")) {
      high = 1;
    } else if (take("+")) {
      low = 1;
    } else if (!take("*") && !(peek() == '{' && bounds(low, high))) {
      return node;
    }
    take("?");  // lazy: the same language
    if (peek() == '+' || peek() == '*' || peek() == '?') wrong("nothing to repeat");
    if (node.kind == Kind::begin || node.kind == Kind::end) wrong("an assertion that is repeated");
    RegexNode out;
    out.kind = Kind::repeat;
    out.low = low;
    out.high = high;
    out.children.push_back(std::move(node));
    return out;
  }

  std::optional<int64_t> number() {
    std::optional<int64_t> n;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      n = n.value_or(0) * 10 + (peek() - '0');
      if (*n > kMaxRepeat) refuse(format("a repetition of more than {}", kMaxRepeat));
    }
    return n;
  }

  bool bounds(int64_t& low, int64_t& high) {
    const size_t begin = at_++;
    const auto first = number();
    if (first && take("}")) {
      low = high = *first;
      return true;
    }
    if (first && take(",")) {
      const auto second = number();
      if (take("}")) {
        low = *first;
        high = second.value_or(-1);
        if (second && *second < low) wrong("a repetition whose bounds are out of order");
        return true;
      }
    }
    at_ = begin;
    wrong("a lone '{'");
  }

  RegexNode atom(int depth) {
    const char c = peek();
    if (c == '(') return group(depth);
    if (c == '[') return of(set());
    if (c == '\\') return escape();
    if (c == '*' || c == '+' || c == '?') wrong("nothing to repeat");
    if (take("^")) return assertion(Kind::begin);
    if (take("$")) return assertion(Kind::end);
    if (take(".")) return of(complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
    const uint32_t code_point = next_code_point();
    return of({{code_point, code_point}});
  }

  static RegexNode assertion(Kind kind) {
    RegexNode n;
    n.kind = kind;
    return n;
  }

  RegexNode group(int depth) {
    ++at_;
    if (take("?")) {
      if (peek() == '=' || peek() == '!') refuse("look-ahead cannot be held");
      if (peek() == '<' && (peek(1) == '=' || peek(1) == '!')) refuse("look-behind cannot be held");
      if (take("<")) {  // a name, of no use here
        while (!done() && peek() != '>') ++at_;
        if (!take(">")) wrong("a group's name that does not end");
      } else if (!take(":")) {
        refuse("a group with flags cannot be held");
      }
    }
    RegexNode node = choice(depth + 1);
    if (!take(")")) wrong("a group that does not end");
    return node;
  }

  uint32_t next_code_point() {
    const auto lead = static_cast<unsigned char>(text_[at_]);
    const int n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead >= 0x80 && (lead < 0xC2 || lead > 0xF4 || at_ + static_cast<size_t>(n) > text_.size()))
      wrong("text that is not UTF-8");
    uint32_t c = n == 1 ? lead : lead & (0x7Fu >> n);
    for (int i = 1; i < n; ++i) {
      const auto byte = static_cast<unsigned char>(text_[at_ + static_cast<size_t>(i)]);
      if ((byte & 0xC0) != 0x80) wrong("text that is not UTF-8");
      c = c << 6 | (byte & 0x3F);
    }
    at_ += static_cast<size_t>(n);
    return c;
  }

  uint32_t hex(int n) {
    uint32_t value = 0;
    for (int i = 0; i < n; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) wrong("an escape without its hexadecimal digits");
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    return value;
  }

  uint32_t unicode_escape() {  // after \u
    if (take("{")) {
      uint32_t value = 0;
      while (!done() && peek() != '}') {
        value = value * 16 + hex(1);
        if (value > kMaxCodePoint) wrong("a code point past U+10FFFF");
      }
      if (!take("}")) wrong("an escape that does not end");
      return value;
    }
    const uint32_t first = hex(4);
    if (first >= 0xD800 && first < 0xDC00 && take("\\u")) {
      const uint32_t second = hex(4);
      if (second < 0xDC00 || second > 0xDFFF) wrong("a surrogate without its pair");
      return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    }
    return first;
  }

  // After a backslash: one of the sets \d \D \w \W \s \S \p{…} \P{…}.
  std::optional<CodePoints> class_escape() {
    const char c = peek();
    CodePoints set;
    switch (c) {
      case 'd':
      case 'D':
        set = digits();
        break;
      case 'w':
      case 'W':
        set = word();
        break;
      case 's':
      case 'S':
        set = white_space();
        break;
      case 'p':
      case 'P': {
        const size_t end = text_.find('}', at_);
        if (peek(1) != '{' || end == std::string_view::npos) wrong("a property without its name in braces");
        if (!unicode_property(text_.substr(at_ + 2, end - at_ - 2), set))
          refuse(format("the property {} is not known", text_.substr(at_, end - at_ + 1)));
        at_ = end;
        break;
      }
      default:
        return std::nullopt;
    }
    ++at_;
    return c >= 'a' ? set : complement(set);
  }

  uint32_t character_escape() {  // after a backslash
    if (done()) wrong("a backslash at the end");
    const char c = text_[at_];
    switch (c) {
      case 't':
        ++at_;
        return '\t';
      case 'n':
        ++at_;
        return '\n';
      case 'r':
        ++at_;
        return '\r';
      case 'f':
        ++at_;
        return '\f';
      case 'v':
        ++at_;
        return '\v';
      case 'x':
        ++at_;
        return hex(2);
      case 'u':
        ++at_;
        return unicode_escape();
      case 'c': {
        const char letter = peek(1);
        if ((letter < 'a' || letter > 'z') && (letter < 'A' || letter > 'Z')) wrong("\\c without its letter");
        at_ += 2;
        return static_cast<uint32_t>(letter & 31);
      }
      case '0':
        if (peek(1) >= '0' && peek(1) <= '9') refuse("an octal escape cannot be held");
        ++at_;
        return 0;
      default:
        break;
    }
    if (c >= '1' && c <= '9') refuse("a back reference cannot be held");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      wrong(format("the escape \\{}, which is not known,", std::string(1, c)));
    return next_code_point();
  }

  RegexNode escape() {
    ++at_;
    if (peek() == 'b' || peek() == 'B') refuse("a word boundary cannot be held");
    if (peek() == 'k') refuse("a back reference cannot be held");
    if (auto found = class_escape()) return of(std::move(*found));
    const uint32_t c = character_escape();
    return of({{c, c}});
  }

  // One element of a set; a class escape has no single code point.
  std::optional<uint32_t> set_element(CodePoints& out) {
    if (take("\\")) {
      if (take("b")) return 8;
      if (take("-")) return '-';
      if (const auto found = class_escape()) {
        out.insert(out.end(), found->begin(), found->end());
        return std::nullopt;
      }
      return character_escape();
    }
    return next_code_point();
  }

  CodePoints set() {
    ++at_;
    const bool negated = take("^");
    CodePoints out;
    while (true) {
      if (done()) wrong("a set that does not end");
      if (take("]")) break;
      const auto low = set_element(out);
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size()) {
        ++at_;
        const auto high = set_element(out);
        if (!low || !high) wrong("a range between classes");
        if (*high < *low) wrong("a range that is out of order");
        out.emplace_back(*low, *high);
      } else if (low) {
        out.emplace_back(*low, *low);
      }
    }
    out = normalised(std::move(out));
    return negated ? complement(out) : out;
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

}  // namespace

RegexNode parse_regex(std::string_view pattern, const std::string& where) {
  return Parser(pattern, where).run();
}

}  // namespace ingle::constrain
