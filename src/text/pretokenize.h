// Cutting a text into the pieces that byte-pair merges may not cross.
//
// A family's pattern is a list of stages; each cuts every fragment of the one before into its matches and the
// gaps between them, and sees nothing beyond its fragment. The patterns are published as regular expressions;
// here they are small scanners that look at each character a bounded number of times, so time is linear and
// nothing recurses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace ingle::text {

// How much was done, for tests that prove linearity by counting.
struct Work {
  uint64_t scanned = 0;  // characters looked at while cutting
  uint64_t merges = 0;   // candidates put in a merge queue
};

// One fragment under a scanner.
class Scan {
 public:
  Scan(std::string_view all, size_t begin, size_t end, Work& work)
      : data_(all.data()), end_(end), space_begin_(end), space_end_(begin), work_(&work) {}
  size_t end() const { return end_; }
  std::string_view fragment() const { return {data_, end_}; }  // with the text before it
  Char at(size_t pos) const { return char_at(data_ + pos, data_ + end_); }
  // Past the run of characters from `pos` that satisfy `keep`, at most `limit` of them.
  template <class Keep>
  size_t run(size_t pos, Keep keep, size_t limit = SIZE_MAX) {
    size_t n = 0;
    for (; n < limit; ++n) {
      const Char c = at(pos);
      if (c.bytes == 0 || !keep(c)) break;
      pos += c.bytes;
    }
    work_->scanned += n + 1;
    return pos;
  }
  size_t run_of(size_t pos, uint16_t flags, size_t limit = SIZE_MAX) {
    return run(
        pos, [flags](const Char& c) { return (c.flags & flags) != 0; }, limit);
  }
  // The run of white space that holds `pos`. Kept, since alternatives that take only part of it ask again.
  struct Space {
    size_t end, last_char, after_newline;  // after_newline: past the last \r or \n, or 0
  };
  Space space_at(size_t pos) {
    if (pos < space_begin_ || pos >= space_end_) scan_space(pos);
    return {space_end_, last_char_, after_newline_ > pos ? after_newline_ : 0};
  }
  // The digits (\p{Nd}) from `pos` on: how many, and where they end. Measured once for a run that is cut in
  // many parts.
  struct Digits {
    size_t count, end;
  };
  Digits digits_at(size_t pos) {
    if (pos < digits_begin_ || pos >= digits_end_) {
      digits_begin_ = pos, digits_left_ = 0;
      digits_end_ = run(pos, [this](const Char& c) { return (c.flags & kDecimal) && ++digits_left_; });
    }
    for (; digits_begin_ < pos; digits_begin_ += at(digits_begin_).bytes) --digits_left_;
    return {digits_left_, digits_end_};
  }
  void count(uint64_t characters) { work_->scanned += characters; }

 private:
  void scan_space(size_t pos) {
    space_begin_ = space_end_ = last_char_ = pos;
    after_newline_ = 0;
    space_end_ = run(pos, [this, at = pos](const Char& c) mutable {
      if (!(c.flags & kSpace)) return false;
      last_char_ = at;
      at += c.bytes;
      if (c.flags & kNewline) after_newline_ = at;
      return true;
    });
  }
  const char* data_;
  size_t end_;
  size_t space_begin_, space_end_, last_char_ = 0, after_newline_ = 0;
  size_t digits_begin_ = 0, digits_end_ = 0, digits_left_ = 0;
  Work* work_;
};

struct Stage;
struct PreTokenizerSpec {
  std::string_view name;  // as files write it
  std::span<const Stage> stages;
  bool ignore_merges = false;   // a piece that is a token is taken whole
  bool add_bos = false;         // when the file does not say
  bool force_bos = false;       // whatever the file says
  bool raw = false;             // merges run on UTF-8 with ▁ for spaces, not on mapped bytes
  bool whole_newlines = false;  // a run of newlines that is a token is taken whole
};

const PreTokenizerSpec* find_pre_tokenizer(std::string_view name);  // null when it is not known
std::span<const PreTokenizerSpec> pre_tokenizers();

// Fills `ends` with the end of each piece, ascending; the last is text.size().
void pre_tokenize(const PreTokenizerSpec& spec, std::string_view text, std::vector<size_t>& ends, Work& work);

}  // namespace ingle::text
