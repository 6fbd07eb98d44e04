// The stages that pre-tokenizers are made of.
#pragma once
#include "text/pretokenize.h"

namespace ingle::text {

struct Cut {
  size_t begin, end;  // begin == end: nothing more in this fragment
};

struct CodeRange {
  uint32_t first, last;
};
struct CharSet {
  uint16_t flags = 0;                 // any of these flags
  std::span<const CodeRange> ranges;  // ascending
  bool negated = false;
  // What `ranges` have below 128, a bit each: most text is there. Not to be set.
  uint64_t low = bits_from(ranges, 0), high = bits_from(ranges, 64);

  bool has(const Char& c) const {
    if (c.code >= 128) return has_wide(c);
    return ((c.flags & flags) || ((c.code < 64 ? low : high) >> (c.code & 63) & 1)) != negated;
  }

 private:
  static constexpr uint64_t bits_from(std::span<const CodeRange> ranges, uint32_t begin) {
    uint64_t bits = 0;
    for (const CodeRange& r : ranges) {
      for (uint32_t code = r.first < begin ? begin : r.first; code <= r.last && code < begin + 64; ++code)
        bits |= uint64_t{1} << (code - begin);
    }
    return bits;
  }
  bool has_wide(const Char& c) const;
};

// One alternation of the family that GPT-2 began: contraction | word | digits | punctuation | white space.
struct WordRules {
  enum class Contraction : uint8_t { none, lower, any_case };
  enum class Word : uint8_t {
    spaced,  //  ?\p{L}+
    lead,    // [^ lead_excludes ]?[ letters ]+
    cased,   // lead, then upper letters, then lower ones, or upper ones alone (o200k)
    phrase,  // words joined by single spaces (EXAONE MoE)
  };
  enum class Tail : uint8_t { none, newlines, newlines_and_slashes, one_newline_or_slash };
  enum class Newline : uint8_t { none, with_space, single };

  Contraction before = Contraction::none,
              after = Contraction::none;  // a rule of its own, or the end of a word
  Word word = Word::spaced;
  uint16_t letters = kLetter;
  uint16_t lead_excludes = kNewline | kLetter | kNumber;
  bool han_apart = false;                               // runs of Han are words of their own
  bool punctuated_word = false;                         // an ASCII mark and the ASCII letters after it
  int digits = 0;                                       // 0:  ?\p{N}+; n: \p{N}{1,n}; -1: \p{N}+
  uint16_t mark_excludes = kSpace | kLetter | kNumber;  // ` ?[^…]+`, when marks is 0
  uint16_t marks = 0;                                   // else ` ?[…]+`
  Tail tail = Tail::none;
  Newline newline = Newline::none;
  bool binary_spaces = false;  // white space in runs of 512, 256, … (Jais 2)
};

struct Stage {
  // The first match at or after `from`.
  Cut (*find)(Scan& scan, size_t from, const Stage& stage);
  const WordRules* rules = nullptr;
  std::span<const CharSet> sets;  // the first that has the character decides
  size_t limit = SIZE_MAX;        // longest run
  uint16_t lead = 0;              // one character of these flags may stand before a run
  bool lead_is_space = false;     // only ' '
};

Cut find_words(Scan& scan, size_t from, const Stage& stage);
Cut find_run(Scan& scan, size_t from, const Stage& stage);               // [lead]?[set]{1,limit}
Cut find_final_space(Scan& scan, size_t from, const Stage& stage);       // \s+$
Cut find_three_digits(Scan& scan, size_t from, const Stage& stage);      // [0-9][0-9][0-9]
Cut find_lines(Scan& scan, size_t from, const Stage& stage);             // [^\n]+|\n+
Cut find_thousands(Scan& scan, size_t from, const Stage& stage);         // digits in threes from the right
Cut find_thousands_starts(Scan& scan, size_t from, const Stage& stage);  // up to each (?=(\d{3})+(?!\d))
Cut find_whole_thousands(Scan& scan, size_t from,
                         const Stage& stage);  // the same, where a word ends after them

}  // namespace ingle::text
