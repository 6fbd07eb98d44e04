#include "constrain/number_inside.h"

namespace ingle::constrain {
namespace {

class NumberInside : public Matcher {
 public:
  NumberInside(const NumberRule& rule, NumberCursor at) : rule_(&rule), at_(std::move(at)) {}
  using Matcher::advance;
  bool advance(uint8_t byte) override { return take(*rule_, at_, byte, true, true); }
  bool accepting() const override { return false; }
  std::unique_ptr<Matcher> clone() const override { return std::make_unique<NumberInside>(*this); }
  void assign(const Matcher& other) override { *this = static_cast<const NumberInside&>(other); }
  bool same(const Matcher& other) const override {
    const auto& o = static_cast<const NumberInside&>(other);
    return rule_ == o.rule_ && at_ == o.at_;
  }
  size_t hash() const override {
    return std::hash<std::string>()(at_.text) * 31 + at_.stage + reinterpret_cast<size_t>(rule_);
  }
  Left left() const override { return holds(*rule_, at_) ? Left::maybe : Left::no; }
  bool may_begin(uint8_t byte) const override {
    return (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '+' || byte == 'e' ||
           byte == 'E';
  }

 private:
  const NumberRule* rule_;
  NumberCursor at_;
};

}  // namespace

bool take(const NumberRule& rule, NumberCursor& at, uint8_t byte, bool writing, bool forget) {
  if (at.take(byte) == Step::dead) return false;
  if (writing && !rule.free() && (at.stage >= 6 || !rule.can_begin(at.text))) return false;
  if (!forget) return true;
  if (rule.free())
    at.text.clear();
  else if (writing && rule.whole_numbers(at.text[0] == '-'))
    at.text = at.stage < 4 ? at.text.substr(0, 1 + (at.text[0] == '-')) : at.stage == 4 ? "1." : "1.0";
  else if (writing)
    rule.shorten(at.text);
  return true;
}

bool holds(const NumberRule& rule, const NumberCursor& at) {
  if (!at.complete()) return false;
  if (rule.free()) return true;
  if (at.stage < 4 ? rule.other_spelling : rule.whole_spelling) return false;
  const auto value = Decimal::parse(at.text);
  return value && rule.holds(*value);
}

std::unique_ptr<Matcher> number_inside(const NumberRule& rule, const NumberCursor& at) {
  return std::make_unique<NumberInside>(rule, at);
}

}  // namespace ingle::constrain
