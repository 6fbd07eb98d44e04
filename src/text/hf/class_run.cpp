#include "text/hf/class_run.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "text/unicode.h"

namespace ingle::text::hf {
namespace {

struct Parsed {
  std::vector<CodeRange> ranges;
  uint16_t flags = 0;
  bool negated = false;
  uint16_t lead = 0;
  bool lead_is_space = false;
  size_t limit = 1;
};

class Parser {
 public:
  explicit Parser(std::string_view in) : in_(in) {}

  std::optional<Parsed> run() {
    if (take("\\s?")) {
      out_.lead = kSpace;
    } else if (take(" ?")) {
      out_.lead_is_space = true;
    }
    if (!(take("[") ? bracket() : one_class()) || !quantifier() || at_ != in_.size()) return std::nullopt;
    join_ranges();
    return std::move(out_);
  }

 private:
  bool take(std::string_view what) {
    if (!in_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  // \p{L} and the like, \s, \d: a class by its flags.
  bool one_class() {
    struct Named {
      std::string_view text;
      uint16_t flags;
    };
    static constexpr Named kNamed[] = {
        {"\\p{L}", kLetter}, {"\\p{N}", kNumber},   {"\\p{M}", kMark}, {"\\p{P}", kPunct},
        {"\\p{S}", kSymbol}, {"\\p{Nd}", kDecimal}, {"\\d", kDecimal}, {"\\s", kSpace},
        {"\\p{Ll}", kLower}, {"\\p{Han}", kHan},
    };
    for (const Named& named : kNamed) {
      if (take(named.text)) {
        out_.flags |= named.flags;
        return true;
      }
    }
    return false;
  }

  // One character of a bracket: itself, or after a backslash.
  bool character(uint32_t& code) {
    if (at_ >= in_.size()) return false;
    if (in_[at_] == '\\') {
      if (at_ + 1 >= in_.size()) return false;
      const char c = in_[at_ + 1];
      const size_t control = std::string_view("nrt").find(c);
      if (control == std::string_view::npos &&
          std::string_view("\\]-^[.+*?$|(){}/\"'").find(c) == std::string_view::npos)
        return false;
      code = static_cast<unsigned char>(control == std::string_view::npos ? c : "\n\r\t"[control]);
      at_ += 2;
      return true;
    }
    const CodePoint c = decode_utf8(in_.data() + at_, in_.data() + in_.size());
    if (!c.valid || in_[at_] == '[' || in_[at_] == '&') return false;
    code = c.code;
    at_ += c.bytes;
    return true;
  }

  bool bracket() {
    out_.negated = take("^");
    if (in_.substr(at_, 1) == "]") return false;
    while (!take("]")) {
      if (one_class()) continue;
      uint32_t first = 0, last = 0;
      if (!character(first)) return false;
      last = first;
      if (in_.substr(at_, 1) == "-" && in_.substr(at_, 2) != "-]") {
        ++at_;
        if (!character(last) || last < first) return false;
      }
      out_.ranges.push_back({first, last});
    }
    return true;
  }

  bool quantifier() {
    if (take("+")) {
      out_.limit = SIZE_MAX;
    } else if (take("{1,")) {
      out_.limit = 0;
      for (; at_ < in_.size() && in_[at_] >= '0' && in_[at_] <= '9' && out_.limit < 1000; ++at_) {
        out_.limit = out_.limit * 10 + static_cast<size_t>(in_[at_] - '0');
      }
      return out_.limit > 0 && take("}");
    }
    return true;
  }

  void join_ranges() {
    std::vector<CodeRange>& r = out_.ranges;
    std::sort(r.begin(), r.end(), [](const CodeRange& a, const CodeRange& b) { return a.first < b.first; });
    size_t kept = 0;
    for (size_t i = 0; i < r.size(); ++i) {
      if (kept > 0 && r[i].first <= r[kept - 1].last + 1) {
        r[kept - 1].last = std::max(r[kept - 1].last, r[i].last);
      } else {
        r[kept++] = r[i];
      }
    }
    r.resize(kept);
  }

  std::string_view in_;
  size_t at_ = 0;
  Parsed out_;
};

class ClassRun final : public Pattern {
 public:
  explicit ClassRun(Parsed parsed) : ranges_(std::move(parsed.ranges)) {
    set_ = {.flags = parsed.flags, .ranges = ranges_, .negated = parsed.negated};
    stage_ = {.find = find_run,
              .sets = {&set_, 1},
              .limit = parsed.limit,
              .lead = parsed.lead,
              .lead_is_space = parsed.lead_is_space};
    inner_ = make_stage_pattern(stage_);
  }
  std::unique_ptr<Search> search(std::string_view text, size_t begin, size_t end, Work& work) const override {
    return inner_->search(text, begin, end, work);
  }
  const Stage* stage() const override { return &stage_; }

 private:
  std::vector<CodeRange> ranges_;
  CharSet set_;
  Stage stage_;
  std::unique_ptr<Pattern> inner_;
};

}  // namespace

std::unique_ptr<Pattern> make_class_run(std::string_view expression) {
  std::optional<Parsed> parsed = Parser(expression).run();
  if (!parsed) return nullptr;
  return std::make_unique<ClassRun>(std::move(*parsed));
}

}  // namespace ingle::text::hf
