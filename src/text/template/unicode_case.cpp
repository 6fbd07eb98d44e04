// Letter case and classes, as Python's str has them.
#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "text/template/unicode_tables.h"
#include "text/template/utf8.h"

namespace ingle::text::jinja {
namespace {

bool in_ranges(std::span<const CharRange> ranges, uint32_t c) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](uint32_t value, const CharRange& r) { return value < r.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

struct CaseTable {
  std::span<const CaseRun> runs;
  std::span<const CaseSpecial> special;
};
constexpr CaseTable kUpperTable{kToUpper, kToUpperSpecial};
constexpr CaseTable kLowerTable{kToLower, kToLowerSpecial};
constexpr CaseTable kTitleTable{kToTitle, kToTitleSpecial};

void append_mapped(std::string& out, const CaseTable& table, uint32_t c) {
  const auto special = std::lower_bound(table.special.begin(), table.special.end(), c,
                                        [](const CaseSpecial& s, uint32_t value) { return s.from < value; });
  if (special != table.special.end() && special->from == c) {
    for (const uint32_t to : special->to) {
      if (to) append_code_point(out, to);
    }
    return;
  }
  // Runs are sorted by their first; those with a stride may interleave, so a few before the place are looked
  // at.
  auto run = std::upper_bound(table.runs.begin(), table.runs.end(), c,
                              [](uint32_t value, const CaseRun& r) { return value < r.first; });
  for (int back = 0; back < 4 && run != table.runs.begin(); ++back) {
    --run;
    if (c <= run->last && (c - run->first) % run->stride == 0) {
      c = static_cast<uint32_t>(static_cast<int64_t>(c) + run->delta);
      break;
    }
  }
  append_code_point(out, c);
}

constexpr uint32_t kSigma = 0x3A3, kSmallSigma = 0x3C3, kFinalSigma = 0x3C2;

// The character nearest to `at`, before or after it, that is not case-ignorable: is it cased?
bool cased_beside(std::string_view text, size_t begin, size_t end, bool before) {
  std::optional<uint32_t> found;
  for (size_t i = begin; i < end;) {
    const CodePoint c = code_point_at(text, i);
    i += c.size;
    if (in_ranges(kCaseIgnorable, c.value)) continue;
    found = c.value;
    if (!before) break;
  }
  return found && in_ranges(kCased, *found);
}

bool is_final_sigma(std::string_view text, size_t at) {
  // A word is short; looking further than this would make the walk quadratic.
  constexpr size_t kReach = 256;
  size_t begin = at > kReach ? at - kReach : 0;
  while (begin < at && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return cased_beside(text, begin, at, true) &&
         !cased_beside(text, at + 2, std::min(text.size(), at + kReach), false);
}

}  // namespace

bool is_upper(uint32_t c) { return in_ranges(kUpper, c); }
bool is_lower(uint32_t c) { return in_ranges(kLower, c); }
bool is_title(uint32_t c) { return in_ranges(kTitle, c); }
bool is_alpha(uint32_t c) { return in_ranges(kAlpha, c); }
bool is_decimal(uint32_t c) { return in_ranges(kDecimal, c); }
bool is_digit(uint32_t c) { return in_ranges(kDigit, c); }
bool is_numeric(uint32_t c) { return in_ranges(kNumeric, c); }
bool is_printable(uint32_t c) { return c >= 0x80 ? in_ranges(kPrintable, c) : c >= 0x20 && c != 0x7F; }

std::string change_case(std::string_view text, CaseRule rule) {
  std::string out;
  out.reserve(text.size());
  bool inside_word = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (c.size == 1 && c.value >= 0x80) {  // not UTF-8: stays
      out += text[i++];
      continue;
    }
    const CaseTable* table = rule == CaseRule::upper ? &kUpperTable : &kLowerTable;
    if (rule == CaseRule::title && !inside_word) table = &kTitleTable;
    if (rule == CaseRule::capitalize && i == 0) table = &kTitleTable;
    if (rule == CaseRule::swap && is_lower(c.value)) table = &kUpperTable;
    if (c.value == kSigma && table == &kLowerTable) {
      append_code_point(out, is_final_sigma(text, i) ? kFinalSigma : kSmallSigma);
    } else {
      append_mapped(out, *table, c.value);
    }
    if (rule == CaseRule::title) inside_word = in_ranges(kCased, c.value);
    i += c.size;
  }
  return out;
}

bool has_case(std::string_view text, bool upper) {
  bool any = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if ((upper ? is_lower(c.value) : is_upper(c.value)) || is_title(c.value)) return false;
    any = any || (upper ? is_upper(c.value) : is_lower(c.value));
    i += c.size;
  }
  return any;
}

}  // namespace ingle::text::jinja
