#include <map>
#include <optional>

#include "constrain/rules.h"
#include "constrain/source_text.h"
#include "constrain/utf8_ranges.h"

namespace ingle::constrain {
namespace {

using Kind = RegexNode::Kind;
constexpr int kMaxDepth = 100;
constexpr int kMaxRepeats = 4;  // of one item, (a?)* and the like written a?*
constexpr int64_t kMaxRepeat = 100'000, kMaxItems = 500'000;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : source_(text, where) {}

  Rules run() {
    for (skip_space(); !source_.done(); skip_space()) rule();
    for (size_t i = 0; i < defined_.size(); ++i)
      if (!defined_[i])
        source_.wrong_at(format("the rule \"{}\", which is not defined,", rules_.rules[i].name), used_at_[i]);
    const auto root = ids_.find("root");
    if (root == ids_.end()) source_.wrong("no rule \"root\"");
    rules_.root = root->second;
    return std::move(rules_);
  }

 private:
  void skip_space() {
    while (!source_.done()) {
      const char c = source_.peek();
      if (c == '#')
        while (!source_.done() && source_.peek() != '\n') source_.skip(1);
      else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        source_.skip(1);
      else
        return;
    }
  }

  std::string name() {
    const size_t begin = source_.at();
    while (is_name(source_.peek())) source_.skip(1);
    return std::string(source_.text().substr(begin, source_.at() - begin));
  }

  int32_t id(const std::string& name, size_t at) {
    const auto [found, fresh] = ids_.emplace(name, static_cast<int32_t>(rules_.rules.size()));
    if (fresh) {
      rules_.rules.push_back({name, {}});
      defined_.push_back(false);
      used_at_.push_back(at);
    }
    return found->second;
  }

  void rule() {
    const size_t begin = source_.at();
    const std::string called = name();
    if (called.empty()) source_.wrong("expected a rule's name");
    skip_space();
    if (!source_.take("::=")) source_.wrong("expected \"::=\"");
    const auto index = static_cast<size_t>(id(called, begin));
    if (defined_[index]) source_.wrong_at(format("the rule \"{}\" again", called), begin);
    defined_[index] = true;
    RegexNode body = choice(0);
    skip_space();
    if (source_.peek() == ')') source_.wrong("an unmatched ')'");
    rules_.rules[index].body = std::move(body);
  }

  bool at_rule() {
    const size_t begin = source_.at();
    bool found = !name().empty();
    if (found) {
      skip_space();
      found = source_.take("::=");
    }
    source_.go_to(begin);
    return found;
  }

  RegexNode choice(int depth) {
    if (depth > kMaxDepth) source_.refuse(format("groups nested deeper than {}", kMaxDepth));
    RegexNode out;
    out.kind = Kind::choice;
    do {
      out.children.push_back(sequence(depth));
    } while (source_.take("|"));
    return out.children.size() == 1 ? std::move(out.children.front()) : std::move(out);
  }

  RegexNode sequence(int depth) {
    RegexNode out;
    int repeats = 0;  // of the last item
    for (skip_space(); !source_.done(); skip_space()) {
      const char c = source_.peek();
      if (c == '|' || c == ')' || (is_name(c) && depth == 0 && at_rule())) break;
      if (c == '*' || c == '+' || c == '?' || c == '{') {
        if (out.children.empty()) source_.wrong(format("nothing to repeat before '{}'", std::string(1, c)));
        if (++repeats > kMaxRepeats) source_.refuse(format("more than {} repetitions in a row", kMaxRepeats));
        repeat(out.children.back());
        continue;
      }
      repeats = 0;
      out.children.push_back(item(depth));
    }
    return out;
  }

  void repeat(RegexNode& node) {
    RegexNode out;
    out.kind = Kind::repeat;
    out.high = -1;
    if (source_.take("?"))
      out.high = 1;
    else if (source_.take("+"))
      out.low = 1;
    else if (!source_.take("*"))
      bounds(out.low, out.high);
    out.children.push_back(std::move(node));
    node = std::move(out);
  }

  std::optional<int64_t> number() {
    skip_space();
    std::optional<int64_t> n;
    for (; source_.peek() >= '0' && source_.peek() <= '9'; source_.skip(1)) {
      n = n.value_or(0) * 10 + (source_.peek() - '0');
      if (*n > kMaxRepeat) source_.refuse(format("a repetition of more than {}", kMaxRepeat));
    }
    skip_space();
    return n;
  }

  void bounds(int64_t& low, int64_t& high) {
    const size_t begin = source_.at();
    source_.skip(1);
    const auto first = number();
    if (!first) source_.wrong("expected a number of repetitions");
    low = high = *first;
    if (source_.take(",")) high = number().value_or(-1);
    if (!source_.take("}")) source_.wrong("expected '}'");
    if (high >= 0 && high < low) source_.wrong_at("a repetition whose bounds are out of order", begin);
  }

  RegexNode item(int depth) {
    if (++items_ > kMaxItems) source_.refuse(format("more than {} items", kMaxItems));
    RegexNode out;
    const char c = source_.peek();
    if (c == '"') {
      out.kind = Kind::text;
      out.text = literal();
    } else if (c == '[') {
      out.kind = Kind::set;
      out.set = set();
    } else if (c == '.') {
      source_.skip(1);
      out.kind = Kind::set;
      out.set = {{0, kMaxCodePoint}};
    } else if (c == '(') {
      const size_t begin = source_.at();
      source_.skip(1);
      out = choice(depth + 1);
      if (!source_.take(")")) source_.wrong_at("a group that does not end", begin);
    } else if (is_name(c)) {
      const size_t begin = source_.at();
      out.kind = Kind::call;
      out.rule = id(name(), begin);
    } else if (c == '<' || c == '!') {
      source_.refuse("a token, which cannot be held (texts can),");
    } else {
      source_.wrong("expected a literal, a character class, a group or a rule's name");
    }
    return out;
  }

  uint32_t character() { return source_.character("nrt", "\\\"[]-^'"); }

  std::string literal() {
    const size_t begin = source_.at();
    source_.skip(1);
    std::string out;
    while (!source_.take("\"")) {
      if (source_.done()) source_.wrong_at("a literal that does not end", begin);
      uint8_t bytes[4];
      const int n = encode_utf8(character(), bytes);
      out.append(bytes, bytes + n);
    }
    return out;
  }

  CodePoints set() {
    const size_t begin = source_.at();
    source_.skip(1);
    const bool negated = source_.take("^");
    CodePoints out;
    while (!source_.take("]")) {
      if (source_.done()) source_.wrong_at("a character class that does not end", begin);
      const size_t at = source_.at();
      const uint32_t low = character();
      uint32_t high = low;
      if (source_.peek() == '-' && source_.peek(1) != ']') {
        source_.skip(1);
        if (source_.done()) source_.wrong_at("a character class that does not end", begin);
        high = character();
        if (high < low) source_.wrong_at("a range that is out of order", at);
      }
      out.emplace_back(low, high);
    }
    if (out.empty()) source_.wrong_at("an empty character class", begin);
    out = normalised(std::move(out));
    return negated ? complement(out) : out;
  }

  SourceText source_;
  Rules rules_;
  int64_t items_ = 0;
  std::map<std::string, int32_t> ids_;
  std::vector<bool> defined_;
  std::vector<size_t> used_at_;
};

}  // namespace

Rules parse_gbnf(std::string_view text, const std::string& where) { return Parser(text, where).run(); }

}  // namespace ingle::constrain
