#include "text/pretokenize.h"

#include <algorithm>

#include "text/pretokenize_stages.h"

namespace ingle::text {
namespace {

// Tries `match` (an end, or `pos` itself when there is none) at each character in turn.
template <class Match>
Cut search(Scan& scan, size_t from, Match match) {
  for (size_t pos = from; pos < scan.end();) {
    const size_t end = match(pos);
    if (end > pos) return {pos, end};
    pos += scan.at(pos).bytes;
    scan.count(1);
  }
  return {scan.end(), scan.end()};
}

bool is_ascii_mark(const Char& c) { return c.code < 128 && (c.flags & (kPunct | kSymbol)); }
bool is_ascii_letter(const Char& c) { return c.code < 128 && (c.flags & kLetter); }

// Bytes of 's 't 'm 'd 're 've 'll at `pos`, or 0.
size_t contraction(const Scan& scan, size_t pos, WordRules::Contraction kind) {
  if (kind == WordRules::Contraction::none || scan.at(pos).code != '\'') return 0;
  const auto letter = [&](size_t at) {
    const Char c = scan.at(at);
    return kind == WordRules::Contraction::any_case && (c.flags & kUpper) && c.code < 128 ? c.code + 32
                                                                                          : c.code;
  };
  const uint32_t a = letter(pos + 1);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (a != 'r' && a != 'v' && a != 'l') return 0;
  return letter(pos + 2) == (a == 'l' ? uint32_t{'l'} : uint32_t{'e'}) ? 3 : 0;
}

// The two forms of a cased word, U*L+ and U+L*, with U = upper, uncased or mark and L = lower, uncased or
// mark; an end is `pos` where the form does not match. A greedy U* gives back characters until L+ has one:
// the last uncased one or mark of its run. The second form matters only where the first fails.
struct CasedEnds {
  size_t mixed, upper;
};
CasedEnds match_cased(Scan& scan, size_t pos, bool no_han) {
  const auto in = [no_han](const Char& c, uint16_t flags) {
    return (c.flags & flags) && !(no_han && (c.flags & kHan));
  };
  size_t last_shared = pos;
  size_t at = pos;
  const size_t upper_end = scan.run(pos, [&](const Char& c) {
    if (!in(c, kUpper | kUncased | kMark)) return false;
    at += c.bytes;
    if (c.flags & (kUncased | kMark)) last_shared = at;
    return true;
  });
  const size_t lower_end =
      scan.run(upper_end, [&](const Char& c) { return in(c, kLower | kUncased | kMark); });
  return {lower_end > upper_end ? lower_end : last_shared, upper_end};
}

size_t match_cased_word(Scan& scan, size_t pos, const WordRules& r) {
  const Char c = scan.at(pos);
  const size_t next = pos + c.bytes;
  const bool may_lead = !(c.flags & r.lead_excludes);
  const CasedEnds led = may_lead ? match_cased(scan, next, r.han_apart) : CasedEnds{next, next};
  if (may_lead && led.mixed > next) return led.mixed;
  const CasedEnds bare = match_cased(scan, pos, r.han_apart);
  if (bare.mixed > pos) return bare.mixed;
  return may_lead && led.upper > next ? led.upper : bare.upper;
}

// Words joined by single spaces: \p{L}\p{M}*(?: \p{L}\p{M}*)*, repeated.
size_t match_phrase(Scan& scan, size_t pos) {
  if (!(scan.at(pos).flags & kLetter)) return pos;
  for (;;) {
    pos = scan.run_of(pos, kLetter | kMark);
    if (scan.at(pos).code != ' ' || !(scan.at(pos + 1).flags & kLetter)) return pos;
    ++pos;
  }
}

size_t match_word_body(Scan& scan, size_t pos, const WordRules& r) {
  switch (r.word) {
    case WordRules::Word::spaced:
    case WordRules::Word::lead:
      return scan.run_of(pos, r.letters);
    case WordRules::Word::cased:
      return match_cased_word(scan, pos, r);
    case WordRules::Word::phrase:
      return match_phrase(scan, pos);
  }
  return pos;
}

size_t match_word(Scan& scan, size_t pos, const WordRules& r) {
  const Char c = scan.at(pos);
  if (r.han_apart && (c.flags & kHan)) return scan.run_of(pos, kHan);
  const size_t next = pos + c.bytes;
  size_t end = pos;
  if (r.word == WordRules::Word::spaced) {
    end = match_word_body(scan, c.code == ' ' ? next : pos, r);
    return c.code == ' ' && end == next ? pos : end;
  }
  if (r.word != WordRules::Word::cased &&
      !(c.flags & r.lead_excludes)) {  // a leading character, if a word follows it
    end = match_word_body(scan, next, r);
    if (end == next) end = pos;
  }
  if (end == pos) end = match_word_body(scan, pos, r);
  return end > pos ? end + contraction(scan, end, r.after) : pos;
}

size_t match_digits(Scan& scan, size_t pos, const WordRules& r) {
  if (r.digits != 0)
    return scan.run_of(pos, kNumber, r.digits < 0 ? SIZE_MAX : static_cast<size_t>(r.digits));
  const size_t begin = scan.at(pos).code == ' ' ? pos + 1 : pos;
  const size_t end = scan.run_of(begin, kNumber);
  return end == begin ? pos : end;
}

size_t match_marks(Scan& scan, size_t pos, const WordRules& r) {
  const auto keep = [&r](const Char& c) {
    return r.marks ? (c.flags & r.marks) != 0 : !(c.flags & r.mark_excludes);
  };
  const size_t begin = scan.at(pos).code == ' ' ? pos + 1 : pos;
  const size_t end = scan.run(begin, keep);
  if (end == begin) return pos;
  const auto newline_or_slash = [](const Char& c) { return (c.flags & kNewline) || c.code == '/'; };
  switch (r.tail) {
    case WordRules::Tail::none:
      return end;
    case WordRules::Tail::newlines:
      return scan.run_of(end, kNewline);
    case WordRules::Tail::newlines_and_slashes:
      return scan.run(end, newline_or_slash);
    case WordRules::Tail::one_newline_or_slash:
      return scan.run(end, newline_or_slash, 1);
  }
  return end;
}

// \s{512}(?!\S)|\s{256}(?!\S)|…|\s{4}(?!\S)|\s{1,2}(?!\S)|\s
size_t match_binary_spaces(Scan& scan, size_t pos, const Scan::Space& space) {
  size_t ends[514];
  size_t n = 0;
  for (size_t at = pos; at < space.end && n < 513; ++n) ends[n + 1] = at += scan.at(at).bytes;
  scan.count(n);
  const bool open_end = space.end == scan.end();  // no \S behind the run
  for (size_t want = 512; want >= 1; want /= 2) {
    if (n > want || (n == want && (open_end || want == 1))) return ends[want];
  }
  return pos;
}

size_t match_space(Scan& scan, size_t pos, const WordRules& r) {
  const Char c = scan.at(pos);
  if (!(c.flags & kSpace)) return pos;
  if (r.newline == WordRules::Newline::single && (c.flags & kNewline)) return pos + 1;
  const Scan::Space space = scan.space_at(pos);
  if (r.newline == WordRules::Newline::with_space && space.after_newline) return space.after_newline;
  if (r.binary_spaces) return match_binary_spaces(scan, pos, space);
  // \s+(?!\S): the last one of a run belongs to what follows, unless it is the only one.
  if (space.end == scan.end() || space.last_char == pos) return space.end;
  return space.last_char;
}

size_t match_rules(Scan& scan, size_t pos, const WordRules& r) {
  scan.count(1);
  if (const size_t n = contraction(scan, pos, r.before)) return pos + n;
  const Char c = scan.at(pos);
  if (r.punctuated_word && is_ascii_mark(c) && is_ascii_letter(scan.at(pos + 1))) {
    return scan.run(pos + 1, is_ascii_letter);
  }
  size_t end = match_word(scan, pos, r);
  if (end == pos) end = match_digits(scan, pos, r);
  if (end == pos) end = match_marks(scan, pos, r);
  if (end == pos) end = match_space(scan, pos, r);
  return end;
}

bool is_digit(const Char& c) { return (c.flags & kDecimal) != 0; }

// The part of the digit run at `pos` that keeps the rest a multiple of three long.
size_t match_thousands(Scan& scan, size_t pos, bool only_whole) {
  if (!is_digit(scan.at(pos))) return pos;
  const auto [n, end] = scan.digits_at(pos);
  const uint16_t word = kLetter | kMark | kDecimal;
  if (only_whole && ((scan.at(end).flags & word) || scan.at(end).code == '_')) return pos;
  return scan.run_of(pos, kDecimal, n % 3 == 0 ? 3 : n % 3);
}

}  // namespace

bool CharSet::has_wide(const Char& c) const {
  bool found = (c.flags & flags) != 0;
  if (!found && !ranges.empty()) {
    const auto at = std::upper_bound(ranges.begin(), ranges.end(), c.code,
                                     [](uint32_t code, const CodeRange& r) { return code < r.first; });
    found = at != ranges.begin() && c.code <= std::prev(at)->last;
  }
  return found != negated;
}

Cut find_words(Scan& scan, size_t from, const Stage& stage) {
  return search(scan, from, [&](size_t pos) { return match_rules(scan, pos, *stage.rules); });
}

Cut find_run(Scan& scan, size_t from, const Stage& stage) {
  // Past the run whose first character is `c` at `begin`, or `pos`.
  const auto run_from = [&](const Char& c, size_t begin, size_t pos) {
    for (const CharSet& set : stage.sets) {
      if (!set.has(c)) continue;
      if (stage.limit == 1) return begin + c.bytes;
      return scan.run(
          begin, [&set](const Char& k) { return set.has(k); }, stage.limit);
    }
    return pos;
  };
  return search(scan, from, [&](size_t pos) {
    const Char c = scan.at(pos);
    if (stage.lead_is_space ? c.code == ' ' : (c.flags & stage.lead) != 0) {
      const Char next = scan.at(pos + c.bytes);
      if (next.bytes == 0) return run_from(c, pos, pos);
      if (const size_t end = run_from(next, pos + c.bytes, pos); end > pos) return end;
    }
    return run_from(c, pos, pos);
  });
}

Cut find_final_space(Scan& scan, size_t from, const Stage&) {
  return search(scan, from, [&](size_t pos) {
    if (!(scan.at(pos).flags & kSpace)) return pos;
    const size_t end = scan.space_at(pos).end;
    return end == scan.end() ? end : pos;
  });
}

Cut find_three_digits(Scan& scan, size_t from, const Stage&) {
  const auto ascii_digit = [](const Char& c) { return c.code >= '0' && c.code <= '9'; };
  return search(scan, from, [&](size_t pos) {
    const size_t end = scan.run(pos, ascii_digit, 3);
    return end == pos + 3 ? end : pos;
  });
}

Cut find_lines(Scan& scan, size_t from, const Stage&) {
  const bool newline = scan.at(from).code == '\n';
  return {from, scan.run(from, [newline](const Char& c) { return (c.code == '\n') == newline; })};
}

Cut find_thousands(Scan& scan, size_t from, const Stage&) {
  return search(scan, from, [&](size_t pos) { return match_thousands(scan, pos, false); });
}

Cut find_thousands_starts(Scan& scan, size_t from, const Stage&) {
  for (size_t pos = from; pos < scan.end();) {
    if (!is_digit(scan.at(pos))) {
      pos += scan.at(pos).bytes;
      scan.count(1);
      continue;
    }
    const size_t n = scan.digits_at(pos).count;
    if (n % 3 == 0 && pos > from) return {from, pos};
    pos = scan.run_of(pos, kDecimal, n % 3 == 0 ? 3 : n % 3);
  }
  return {from, scan.end()};
}

Cut find_whole_thousands(Scan& scan, size_t from, const Stage&) {
  for (size_t pos = from; pos < scan.end();) {
    const size_t end = match_thousands(scan, pos, true);
    if (end > pos) return {pos, end};
    // Nothing inside a run that fails can match either: all of it ends in the same place.
    const size_t past = scan.run_of(pos, kDecimal);
    pos = past > pos ? past : pos + scan.at(pos).bytes;
  }
  return {scan.end(), scan.end()};
}

void pre_tokenize(const PreTokenizerSpec& spec, std::string_view text, std::vector<size_t>& ends,
                  Work& work) {
  ends.clear();
  if (text.empty()) return;
  ends.push_back(text.size());
  std::vector<size_t> cut;
  for (const Stage& stage : spec.stages) {
    cut.clear();
    size_t begin = 0;
    for (const size_t end : ends) {
      Scan scan(text, begin, end, work);
      for (size_t pos = begin; pos < end;) {
        const Cut match = stage.find(scan, pos, stage);
        if (match.begin > pos) cut.push_back(match.begin);
        if (match.end > match.begin) cut.push_back(match.end);
        pos = match.end;
      }
      begin = end;
    }
    ends.swap(cut);
  }
}

}  // namespace ingle::text
