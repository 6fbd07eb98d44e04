#include "constrain/text_inside.h"

namespace ingle::constrain {
namespace {

// What the two share: a cursor whose length does not matter.
class Inside : public Matcher {
 public:
  Inside(const StringCursor& at, bool escapes) : at_(at), escapes_(escapes) { at_.length = 0; }
  using Matcher::advance;
  bool advance(uint8_t byte) override {
    if (left_ || (byte == '\\' && !escapes_)) return false;
    grown_ = at_.stage == 0 && byte != '"' && (byte & 0xC0) != 0x80;
    const Step s = at_.take(byte, dfa(), kUnbounded, nullptr);
    at_.length = 0;
    left_ = s == Step::closed;
    return s != Step::dead && (left_ ? may_end() : may_go_on());
  }
  bool accepting() const override { return false; }
  Left left() const override { return left_ ? Left::surely : Left::no; }
  bool grown() const override { return grown_; }
  Text text() const override { return {at_.stage == 0 && !left_ ? &dfa() : nullptr, at_.state, escapes_}; }
  size_t hash() const override {
    return (static_cast<size_t>(at_.state) << 24 ^ static_cast<size_t>(at_.code) << 8 ^
            static_cast<size_t>(at_.high_surrogate) << 40 ^ static_cast<size_t>(at_.stage) << 2 ^
            static_cast<size_t>(left_) << 1 ^ static_cast<size_t>(grown_)) *
           0xBF58476D1CE4E5B9u;
  }

 protected:
  virtual const Dfa& dfa() const = 0;
  virtual bool may_end() const { return true; }
  virtual bool may_go_on() const { return true; }
  bool same_place(const Inside& o) const {
    return left_ == o.left_ && grown_ == o.grown_ && escapes_ == o.escapes_ && at_ == o.at_;
  }
  StringCursor at_;

 private:
  bool escapes_, left_ = false, grown_ = false;
};

class TextInside : public Inside {
 public:
  TextInside(const Dfa& dfa, const StringCursor& at, bool escapes) : Inside(at, escapes), dfa_(&dfa) {}
  std::unique_ptr<Matcher> clone() const override { return std::make_unique<TextInside>(*this); }
  void assign(const Matcher& other) override { *this = static_cast<const TextInside&>(other); }
  bool same(const Matcher& other) const override {
    const auto& o = static_cast<const TextInside&>(other);
    return dfa_ == o.dfa_ && same_place(o);
  }

 protected:
  const Dfa& dfa() const override { return *dfa_; }

 private:
  const Dfa* dfa_;
};

class KeyInside : public Inside {
 public:
  KeyInside(const ObjectShape& shape, const StringCursor& at, std::vector<uint64_t> allowed)
      : Inside(at, false), shape_(&shape), allowed_(std::move(allowed)) {}
  std::unique_ptr<Matcher> clone() const override { return std::make_unique<KeyInside>(*this); }
  void assign(const Matcher& other) override { *this = static_cast<const KeyInside&>(other); }
  bool same(const Matcher& other) const override {
    const auto& o = static_cast<const KeyInside&>(other);
    return shape_ == o.shape_ && same_place(o) && allowed_ == o.allowed_;
  }
  int32_t way_out() const override { return label(); }

 protected:
  const Dfa& dfa() const override { return shape_->keys; }
  bool may_end() const override {
    const int32_t c = label();
    return c >= 0 && (allowed_[static_cast<size_t>(c) / 64] >> (c % 64) & 1) != 0;
  }
  bool may_go_on() const override {
    const auto& reach = shape_->reach[static_cast<size_t>(at_.state)];
    for (size_t w = 0; w < reach.size(); ++w)
      if (reach[w] & allowed_[w]) return true;
    return false;
  }

 private:
  int32_t label() const { return shape_->keys.label[static_cast<size_t>(at_.state)]; }
  const ObjectShape* shape_;
  std::vector<uint64_t> allowed_;
};

}  // namespace

std::unique_ptr<Matcher> text_inside(const Dfa& dfa, const StringCursor& at, bool escapes) {
  return std::make_unique<TextInside>(dfa, at, escapes);
}

std::unique_ptr<Matcher> key_inside(const ObjectShape& shape, const StringCursor& at,
                                    const std::vector<uint64_t>& allowed) {
  return std::make_unique<KeyInside>(shape, at, allowed);
}

}  // namespace ingle::constrain
