// Regular expressions of tokenizer.json. They are written for Oniguruma with Ruby's syntax; what PCRE2 reads
// otherwise is rewritten or refused. A search counts its steps and gives up when they are no longer in
// proportion to the text: no expression of a file may take a prompt hostage.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "core/error.h"
#include "text/hf/pattern.h"
#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

constexpr Cut kNoMatch{std::string_view::npos, std::string_view::npos};
constexpr uint64_t kStepsPerByte = 512, kStepsAtLeast = 4096;
constexpr uint32_t kHeapKiB = 64 * 1024;
constexpr uint32_t kMatchLimit = 1u << 28;  // a backstop: the step counter strikes first
constexpr size_t kLongestExpression = 65536;

// White space and word characters as Unicode has them: without a number of bytes, for inside brackets.
constexpr std::string_view kSpaceClass =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{"
    "3000}";
constexpr std::string_view kWordClass = "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}";

class Translator {
 public:
  Translator(std::string_view in, const Node& node) : in_(in), node_(node) {}

  std::string run() {
    while (at_ < in_.size()) {
      const char c = in_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        class_character(c);
      } else {
        character(c);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    node_.unsupported(format("'{}', whose '{}' is not supported", in_, what));
  }
  void copy(size_t n) {
    out_.append(in_.substr(at_, n));
    at_ += n;
  }

  void character(char c) {
    if (c == '[') {
      in_class_ = true;
      copy(1);
      if (in_.substr(at_, 1) == "^") copy(1);
      if (in_.substr(at_, 1) == "]") refuse("[]");
      return;
    }
    if (c == '(' && in_.substr(at_, 2) == "(?") return group();
    if (c == '}' && in_.substr(at_ + 1, 1) == "+") refuse("}+");  // possessive there, not here
    copy(1);
  }

  void class_character(char c) {
    if (c == ']') in_class_ = false;
    if (c == '&' && in_.substr(at_, 2) == "&&") refuse("&&");
    if (c == '[') {
      if (in_.substr(at_, 2) != "[:") refuse("[…[");
      const size_t end = in_.find(":]", at_);
      if (end == in_.npos) refuse("[:");
      return copy(end + 2 - at_);
    }
    copy(1);
  }

  // In Ruby's syntax `m` lets the dot match line ends, and there is no `s`.
  void group() {
    const size_t end = in_.find_first_not_of("imx-", at_ + 2);
    if (end != in_.npos && end > at_ + 2 && (in_[end] == ':' || in_[end] == ')')) {
      std::string flags(in_.substr(at_, end - at_));
      std::replace(flags.begin(), flags.end(), 'm', 's');
      out_ += flags;
      at_ = end;
      return;
    }
    for (const char* known : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (in_.substr(at_).starts_with(known)) return copy(std::string_view(known).size());
    }
    refuse(in_.substr(at_, 3));
  }

  void put_class(std::string_view members, bool negated) {
    if (in_class_) {
      if (negated) refuse("a negated class inside brackets");
      out_ += members;
    } else {
      out_ += negated ? "[^" : "[";
      out_ += members;
      out_ += ']';
    }
    at_ += 2;
  }

  void escape() {
    if (at_ + 1 >= in_.size()) refuse("\\");
    const char c = in_[at_ + 1];
    switch (c) {
      case 's':
      case 'S':
        if (c == 'S' && in_class_) return negated_space();
        return put_class(kSpaceClass, c == 'S');
      case 'w':
      case 'W':
        return put_class(kWordClass, c == 'W');
      case 'd':
      case 'D':
        out_ += c == 'd' ? "\\p{Nd}" : "\\P{Nd}";
        at_ += 2;
        return;
      case 'h':
      case 'H':
        return put_class("0-9a-fA-F", c == 'H');
      case 'u': {
        const std::string_view digits = in_.substr(at_ + 2, 4);
        if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos)
          refuse("\\u");
        out_ += format("\\x{{{}}}", digits);
        at_ += 6;
        return;
      }
      case 'p':
      case 'P': {
        const size_t end = in_.find('}', at_);
        if (in_.substr(at_ + 2, 1) != "{" || end == in_.npos) refuse("\\p");
        return copy(end + 1 - at_);
      }
      case 'x':
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'v':
      case 'a':
      case 'e':
      case 'b':
      case 'B':
      case 'A':
      case 'z':
        return copy(2);
      default:
        break;
    }
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) refuse(in_.substr(at_, 2));
    copy(2);
  }

  // [\S…]: everything but white space.
  void negated_space() {
    out_ +=
        "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{"
        "200b}-"
        "\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}";
    at_ += 2;
  }

  std::string_view in_;
  const Node& node_;
  std::string out_;
  size_t at_ = 0;
  bool in_class_ = false;
};

struct FreeCode {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
};
struct FreeData {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};
struct FreeContext {
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

class RegexPattern final : public Pattern {
 public:
  RegexPattern(std::string expression, pcre2_code* code, std::string file)
      : expression_(std::move(expression)), file_(std::move(file)), code_(code) {}
  std::unique_ptr<Search> search(std::string_view text, size_t begin, size_t end, Work& work) const override;

 private:
  class Finder;
  std::string expression_, file_;
  std::unique_ptr<pcre2_code, FreeCode> code_;
};

class RegexPattern::Finder final : public Search {
 public:
  Finder(const RegexPattern& owner, std::string_view fragment, size_t offset, Work& work)
      : owner_(owner), fragment_(fragment), offset_(offset), work_(work) {
    make_valid();
    budget_ = kStepsAtLeast + kStepsPerByte * fragment_.size();
    data_.reset(pcre2_match_data_create(1, nullptr));
    context_.reset(pcre2_match_context_create(nullptr));
    if (!data_ || !context_) fail(Code::out_of_memory, owner_.file_, "a regular expression's workspace");
    pcre2_set_match_limit(context_.get(), kMatchLimit);
    pcre2_set_heap_limit(context_.get(), kHeapKiB);
    pcre2_set_callout(context_.get(), &Finder::step, this);
  }

  Cut next(size_t from) override {
    size_t start = from - offset_;
    for (; start <= fragment_.size(); start = past(start)) {
      const Cut match = match_from(start);
      if (match.begin == kNoMatch.begin) return kNoMatch;
      // An empty match where the last one ended counts for nothing.
      if (match.begin == match.end && match.end == last_end_) {
        start = match.end;
        continue;
      }
      last_end_ = match.end;
      return {match.begin + offset_, match.end + offset_};
    }
    return kNoMatch;
  }

 private:
  // PCRE2 wants whole characters; a stray byte becomes a character of one byte that is no letter.
  void make_valid() {
    const char* end = fragment_.data() + fragment_.size();
    for (const char* at = fragment_.data(); at < end;) {
      const CodePoint c = decode_utf8(at, end);
      if (!c.valid) {
        if (valid_.empty()) valid_ = fragment_;
        valid_[static_cast<size_t>(at - fragment_.data())] = '\x7F';
      }
      at += c.bytes;
    }
    if (!valid_.empty()) fragment_ = valid_;
  }

  size_t past(size_t at) const {
    if (at >= fragment_.size()) return at + 1;
    return at + decode_utf8(fragment_.data() + at, fragment_.data() + fragment_.size()).bytes;
  }

  static int step(pcre2_callout_block* block, void* self) {
    auto& f = *static_cast<Finder*>(self);
    const size_t at = block->current_position;
    f.steps_ += 1 + (at > f.place_ ? at - f.place_ : f.place_ - at);
    f.place_ = at;
    return f.steps_ > f.budget_ ? PCRE2_ERROR_MATCHLIMIT : 0;
  }

  Cut match_from(size_t start) {
    place_ = start;
    const uint64_t before = steps_;
    const int rc = pcre2_match(owner_.code_.get(), reinterpret_cast<PCRE2_SPTR>(fragment_.data()),
                               fragment_.size(), start, PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
    work_.scanned += steps_ - before;
    if (rc == PCRE2_ERROR_NOMATCH) return kNoMatch;
    if (rc < 0) {
      fail(Code::unsupported, owner_.file_,
           format("the expression '{}' takes too many steps or too much memory on this text of {} bytes",
                  owner_.expression_, fragment_.size()));
    }
    const PCRE2_SIZE* at = pcre2_get_ovector_pointer(data_.get());
    return {at[0], std::max(at[0], at[1])};
  }

  const RegexPattern& owner_;
  std::string_view fragment_;
  std::string valid_;
  size_t offset_;
  Work& work_;
  uint64_t steps_ = 0, budget_ = 0;
  size_t place_ = 0, last_end_ = std::string_view::npos;
  std::unique_ptr<pcre2_match_data, FreeData> data_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;
};

std::unique_ptr<Pattern::Search> RegexPattern::search(std::string_view text, size_t begin, size_t end,
                                                      Work& work) const {
  return std::make_unique<Finder>(*this, text.substr(begin, end - begin), begin, work);
}

}  // namespace

std::string translate_expression(const std::string& expression, const Node& node) {
  return Translator(expression, node).run();
}

std::unique_ptr<Pattern> make_regex_pattern(const std::string& expression, const Node& node) {
  if (expression.size() > kLongestExpression) {
    node.unsupported(
        format("an expression of {} bytes, at most {} are supported", expression.size(), kLongestExpression));
  }
  const std::string translated = translate_expression(expression, node);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_AUTO_CALLOUT | PCRE2_NEVER_BACKSLASH_C,
                    &error, &at, nullptr);
  if (!code) {
    PCRE2_UCHAR text[160] = {};
    pcre2_get_error_message(error, text, sizeof text);
    node.unsupported(format("'{}', which cannot be compiled: {}", expression,
                            std::string(reinterpret_cast<const char*>(text))));
  }
  return std::make_unique<RegexPattern>(expression, code, node.file());
}

}  // namespace ingle::text::hf
