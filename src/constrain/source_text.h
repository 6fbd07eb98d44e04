// A grammar's source while it is being read: where the reader is, and errors that say so.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace ingle::constrain {

class SourceText {
 public:
  SourceText(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  bool done() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(std::string_view s) {
    if (!text_.substr(at_).starts_with(s)) return false;
    at_ += s.size();
    return true;
  }
  void skip(size_t n) { at_ += n; }
  size_t at() const { return at_; }
  void go_to(size_t at) { at_ = at; }
  std::string_view text() const { return text_; }
  // Throws when it is not UTF-8.
  uint32_t next_code_point();
  uint32_t hex(int n);  // of n digits
  // One character, or an escape: \x \u \U with their digits, one of `controls` (of "nrtf"), or one of
  // `themselves`, which stand for themselves.
  uint32_t character(std::string_view controls, std::string_view themselves);
  std::string position(size_t at) const;  // "line 3, column 7"

  [[noreturn]] void wrong(const std::string& what) const { wrong_at(what, at_); }
  [[noreturn]] void wrong_at(const std::string& what, size_t at) const {
    fail(Code::invalid_argument, where_, format("{} at {}", what, position(at)));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(Code::unsupported, where_, format("{} at {}", what, position(at_)));
  }

 private:
  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

}  // namespace ingle::constrain
