// Lark's grammar notation, held as a context-free grammar over characters: no lexer chooses among terminals.
#include <algorithm>
#include <map>
#include <optional>

#include "constrain/regex_tree.h"
#include "constrain/rules.h"
#include "constrain/source_text.h"
#include "constrain/utf8_ranges.h"

namespace ingle::constrain {
namespace {

using Kind = RegexNode::Kind;
constexpr int kMaxDepth = 100;
constexpr int64_t kMaxRepeat = 100'000, kMaxItems = 500'000;

// The terminals of Lark's module `common`.
constexpr std::pair<std::string_view, std::string_view> kCommon[] = {
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
    {"FLOAT", "[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"SIGNED_FLOAT", "[+-]?(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"},
    {"NUMBER", "[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+"},
    {"SIGNED_NUMBER",
     "[+-]?(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+)"},
    {"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\""},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[a-zA-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"CNAME", "[_a-zA-Z][_a-zA-Z0-9]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
};

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_terminal(std::string_view name) {
  const size_t first = name.find_first_not_of('_');
  return first != name.npos && name[first] >= 'A' && name[first] <= 'Z';
}

RegexNode call_of(int32_t rule) {
  RegexNode out;
  out.kind = Kind::call;
  out.rule = rule;
  return out;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& where)
      : source_(text), where_(where), text_(text, where) {}

  Rules run() {
    for (skip_space(true); !text_.done(); skip_space(true)) {
      if (text_.peek() == '%')
        directive();
      else
        definition();
    }
    for (size_t i = 0; i < defined_.size(); ++i)
      if (!defined_[i])
        text_.wrong_at(format("the rule \"{}\", which is not defined,", rules_.rules[i].name), used_at_[i]);
    const auto start = ids_.find("start");
    if (start == ids_.end()) text_.wrong("no rule \"start\"");
    finish(start->second);
    return std::move(rules_);
  }

 private:
  // What is ignored may stand before every terminal of a rule, and at the end.
  void finish(int32_t start) {
    RegexNode body;
    body.children.push_back(call_of(start));
    rules_.rules.push_back({"the start", {}});
    rules_.root = static_cast<int32_t>(rules_.rules.size()) - 1;
    if (skip_ >= 0) {
      RegexNode any;
      any.kind = Kind::choice;
      for (RegexNode& each : ignored_) any.children.push_back(std::move(each));
      RegexNode many;
      many.kind = Kind::repeat;
      many.high = -1;
      many.children.push_back(std::move(any));
      rules_.rules[static_cast<size_t>(skip_)].body = std::move(many);
      body.children.push_back(call_of(skip_));
    }
    rules_.rules.back().body = std::move(body);
  }

  void skip_space(bool lines) {
    while (!text_.done()) {
      const char c = text_.peek();
      if (c == '#' || (c == '/' && text_.peek(1) == '/'))
        while (!text_.done() && text_.peek() != '\n') text_.skip(1);
      else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n'))
        text_.skip(1);
      else
        return;
    }
  }

  std::string name() {
    const size_t begin = text_.at();
    while (is_name(text_.peek())) text_.skip(1);
    return std::string(source_.substr(begin, text_.at() - begin));
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

  void define(const std::string& called, size_t at, RegexNode body) {
    const auto index = static_cast<size_t>(id(called, at));
    if (defined_[index]) text_.wrong_at(format("the rule \"{}\" again", called), at);
    defined_[index] = true;
    rules_.rules[index].body = std::move(body);
  }

  void directive() {
    const size_t begin = text_.at();
    text_.skip(1);
    const std::string what = name();
    if (what != "ignore" && what != "import") {
      text_.go_to(begin);
      text_.refuse(format("the directive %{} cannot be held", what));
    }
    skip_space(false);
    if (what == "import") return import_terminals();
    if (skip_ < 0) skip_ = id("what is ignored", begin);
    defined_[static_cast<size_t>(skip_)] = true;
    in_terminal_ = true;
    ignored_.push_back(choice(0));
  }

  void import_terminals() {
    const size_t begin = text_.at();
    if (name() != "common") {
      text_.go_to(begin);
      text_.refuse("an import of anything but \"common\" cannot be held");
    }
    skip_space(false);
    if (text_.take(".")) {
      const std::string from = name();
      skip_space(false);
      std::string as = from;
      if (text_.take("->")) {
        skip_space(false);
        as = name();
      }
      return import_one(from, as, begin);
    }
    if (!text_.take("(")) text_.wrong("expected '.' or '('");
    do {
      skip_space(true);
      const std::string from = name();
      import_one(from, from, begin);
      skip_space(true);
    } while (text_.take(","));
    if (!text_.take(")")) text_.wrong("expected ')'");
  }

  void import_one(const std::string& from, const std::string& as, size_t at) {
    const auto found =
        std::find_if(std::begin(kCommon), std::end(kCommon), [&](const auto& c) { return c.first == from; });
    if (found == std::end(kCommon))
      text_.wrong_at(format("\"{}\", which \"common\" does not have,", from), at);
    define(as, at, parse_regex(found->second, where_));
  }

  void definition() {
    const size_t begin = text_.at();
    if (!text_.take("?")) text_.take("!");  // they shape Lark's tree
    const std::string called = name();
    if (called.empty()) text_.wrong("expected a rule's name");
    if (text_.peek() == '{') text_.refuse("a template cannot be held");
    if (text_.take(".")) {  // a priority, which chooses among readings of one text
      text_.take("-");
      name();
    }
    skip_space(false);
    if (!text_.take(":")) text_.wrong("expected ':'");
    in_terminal_ = is_terminal(called);
    RegexNode body = choice(0);
    if (text_.peek() == ')' || text_.peek() == ']')
      text_.wrong(format("an unmatched '{}'", std::string(1, text_.peek())));
    define(called, begin, std::move(body));
  }

  bool at_definition() {
    const size_t begin = text_.at();
    if (!text_.take("?")) text_.take("!");
    bool found = !name().empty();
    if (found && text_.take(".")) {
      text_.take("-");
      name();
    }
    skip_space(false);
    found = found && text_.peek() == ':';
    text_.go_to(begin);
    return found;
  }

  RegexNode choice(int depth) {
    if (depth > kMaxDepth) text_.refuse(format("groups nested deeper than {}", kMaxDepth));
    RegexNode out;
    out.kind = Kind::choice;
    do {
      out.children.push_back(sequence(depth));
      if (text_.take("->")) {  // an alias shapes the tree
        skip_space(false);
        name();
        skip_space(true);
      }
    } while (text_.take("|"));
    return out.children.size() == 1 ? std::move(out.children.front()) : std::move(out);
  }

  RegexNode sequence(int depth) {
    RegexNode out;
    for (skip_space(true); !text_.done(); skip_space(true)) {
      const char c = text_.peek();
      if (c == '|' || c == ')' || c == ']' || c == '%' || (c == '-' && text_.peek(1) == '>')) break;
      if (depth == 0 && (is_name(c) || c == '?' || c == '!') && at_definition()) break;
      out.children.push_back(repeated(item(depth)));
    }
    return out;
  }

  RegexNode repeated(RegexNode node) {
    RegexNode out;
    out.kind = Kind::repeat;
    out.high = -1;
    skip_space(false);
    if (text_.peek() == '?' && !at_definition()) {
      text_.skip(1);
      out.high = 1;
    } else if (text_.take("+")) {
      out.low = 1;
    } else if (text_.take("~")) {
      skip_space(false);
      out.low = out.high = number();
      if (text_.take("..")) out.high = number();
      if (out.high < out.low) text_.wrong("a repetition whose bounds are out of order");
    } else if (!text_.take("*")) {
      return node;
    }
    out.children.push_back(std::move(node));
    return out;
  }

  int64_t number() {
    if (text_.peek() < '0' || text_.peek() > '9') text_.wrong("expected a number of repetitions");
    int64_t n = 0;
    for (; text_.peek() >= '0' && text_.peek() <= '9'; text_.skip(1)) {
      n = n * 10 + (text_.peek() - '0');
      if (n > kMaxRepeat) text_.refuse(format("a repetition of more than {}", kMaxRepeat));
    }
    return n;
  }

  // A terminal, with what may be ignored before it.
  RegexNode terminal(RegexNode node) {
    if (in_terminal_) return node;
    if (skip_ < 0) skip_ = id("what is ignored", text_.at());
    defined_[static_cast<size_t>(skip_)] = true;
    RegexNode out;
    out.children.push_back(call_of(skip_));
    out.children.push_back(std::move(node));
    return out;
  }

  RegexNode item(int depth) {
    if (++items_ > kMaxItems) text_.refuse(format("more than {} items", kMaxItems));
    const size_t begin = text_.at();
    const char c = text_.peek();
    if (c == '(' || c == '[') {
      text_.skip(1);
      RegexNode out = choice(depth + 1);
      if (!text_.take(c == '(' ? ")" : "]")) text_.wrong_at("a group that does not end", begin);
      if (c == '(') return out;
      RegexNode optional;
      optional.kind = Kind::repeat;
      optional.high = 1;
      optional.children.push_back(std::move(out));
      return optional;
    }
    if (c == '"') return terminal(string());
    if (c == '/') return terminal(pattern());
    if (is_name(c)) {
      const std::string called = name();
      if (text_.peek() == '{') text_.refuse("a template cannot be held");
      RegexNode out = call_of(id(called, begin));
      return is_terminal(called) ? terminal(std::move(out)) : out;
    }
    if (c == '<') text_.refuse("a token, which cannot be held (texts can),");
    text_.wrong("expected a string, a pattern, a group or a rule's name");
  }

  std::string quoted() {
    const size_t begin = text_.at();
    text_.skip(1);
    std::string out;
    while (!text_.take("\"")) {
      if (text_.done() || text_.peek() == '\n') text_.wrong_at("a string that does not end", begin);
      uint8_t bytes[4];
      const int n = encode_utf8(character(), bytes);
      out.append(bytes, bytes + n);
    }
    return out;
  }

  uint32_t character() { return text_.character("nrtf", "\\\"/'"); }

  RegexNode string() {
    const size_t begin = text_.at();
    RegexNode out;
    out.kind = Kind::text;
    out.text = quoted();
    if (text_.take("..")) {
      if (text_.peek() != '"') text_.wrong("expected the end of a range");
      const CodePoints low = code_points(out.text), high = code_points(quoted());
      if (low.size() != 1 || high.size() != 1 || high[0].first < low[0].first)
        text_.wrong_at("a range that is not of two characters in order", begin);
      out.kind = Kind::set;
      out.set = {{low[0].first, high[0].first}};
    } else if (text_.peek() == 'i' && !is_name(text_.peek(1))) {
      text_.skip(1);
      return without_case(out.text, begin);
    }
    return out;
  }

  CodePoints code_points(const std::string& text) const {
    CodePoints out;
    SourceText reader(text, where_);
    while (!reader.done()) {
      const uint32_t c = reader.next_code_point();
      out.emplace_back(c, c);
    }
    return out;
  }

  RegexNode without_case(const std::string& text, size_t at) {
    RegexNode out;
    for (const auto& [c, same] : code_points(text)) {
      if (c >= 0x80) text_.wrong_at("a string without case beyond ASCII", at);
      RegexNode letter;
      letter.kind = Kind::set;
      const uint32_t lower = c | 0x20;
      letter.set = lower >= 'a' && lower <= 'z' ? CodePoints{{lower - 32, lower - 32}, {lower, lower}}
                                                : CodePoints{{c, c}};
      out.children.push_back(std::move(letter));
    }
    return out;
  }

  RegexNode pattern() {
    const size_t begin = text_.at();
    text_.skip(1);
    for (bool in_set = false; in_set || text_.peek() != '/'; text_.skip(1)) {
      if (text_.done() || text_.peek() == '\n') text_.wrong_at("a pattern that does not end", begin);
      if (text_.peek() == '\\')
        text_.skip(1);
      else if (text_.peek() == '[')
        in_set = true;
      else if (text_.peek() == ']')
        in_set = false;
    }
    const std::string_view inside = source_.substr(begin + 1, text_.at() - begin - 1);
    text_.skip(1);
    const char flag = text_.peek();
    if (flag == 'i' || flag == 'm' || flag == 's' || flag == 'l' || flag == 'u' || flag == 'x')
      if (!is_name(text_.peek(1)))
        text_.refuse(format("the flag '{}' of a pattern cannot be held", std::string(1, flag)));
    try {
      return parse_regex(inside, where_);
    } catch (const Error& e) {
      fail(e.code(), where_, format("{}, in the pattern at {}", e.message(), text_.position(begin)));
    }
  }

  const std::string_view source_;
  const std::string& where_;
  SourceText text_;
  Rules rules_;
  int64_t items_ = 0;
  std::map<std::string, int32_t> ids_;
  std::vector<bool> defined_;
  std::vector<size_t> used_at_;
  std::vector<RegexNode> ignored_;
  int32_t skip_ = -1;  // the rule of what is ignored
  bool in_terminal_ = false;
};

}  // namespace

Rules parse_lark(std::string_view text, const std::string& where) { return Parser(text, where).run(); }

}  // namespace ingle::constrain
