#include "constrain/number_rule.h"

#include <algorithm>

namespace ingle::constrain {
namespace {

using Wide = __int128;
constexpr int kMaxDigits = 36;  // what a Wide holds, with room for one more

// A decimal in units of 10^-scale.
std::optional<Wide> scaled(const Decimal& d, int64_t scale) {
  if (d.is_zero()) return Wide{0};
  const int64_t zeros = d.exponent + scale;
  if (zeros < 0 || zeros + static_cast<int64_t>(d.digits.size()) > kMaxDigits) return std::nullopt;
  Wide value = 0;
  for (const char c : d.digits) value = value * 10 + (c - '0');
  for (int64_t i = 0; i < zeros; ++i) value *= 10;
  return d.negative ? -value : value;
}

// Numbers from `low` to `high` in units, either of which may be missing or left out.
struct Range {
  std::optional<Wide> low, high;
  bool low_open = false, high_open = false;
};

Range meet(Range a, const Range& b) {
  if (b.low && (!a.low || *b.low > *a.low || (*b.low == *a.low && b.low_open))) {
    a.low = b.low;
    a.low_open = b.low_open;
  }
  if (b.high && (!a.high || *b.high < *a.high || (*b.high == *a.high && b.high_open))) {
    a.high = b.high;
    a.high_open = b.high_open;
  }
  return a;
}

struct Scaled {
  Range range;
  std::vector<Wide> multiples, not_multiples, not_equal;
  int64_t scale = 0;
};

// Nothing when a figure is too long.
std::optional<Scaled> rescale(const NumberRule& rule, int64_t least_scale) {
  Scaled out;
  const auto finest = [&](const Decimal& d) { out.scale = std::max(out.scale, -d.exponent); };
  out.scale = least_scale;
  if (rule.low) finest(*rule.low);
  if (rule.high) finest(*rule.high);
  for (const auto* list : {&rule.multiples, &rule.not_multiples, &rule.not_equal})
    for (const Decimal& d : *list) finest(d);
  if (out.scale > kMaxDigits) return std::nullopt;
  bool good = true;
  const auto put = [&](const Decimal& d) {
    const auto value = scaled(d, out.scale);
    good = good && value;
    return value.value_or(0);
  };
  if (rule.low) out.range.low = put(*rule.low);
  if (rule.high) out.range.high = put(*rule.high);
  out.range.low_open = rule.low_open;
  out.range.high_open = rule.high_open;
  for (const Decimal& d : rule.multiples) out.multiples.push_back(put(d));
  for (const Decimal& d : rule.not_multiples) out.not_multiples.push_back(put(d));
  for (const Decimal& d : rule.not_equal) out.not_equal.push_back(put(d));
  return good ? std::optional(std::move(out)) : std::nullopt;
}

bool allowed(const Scaled& s, Wide value) {
  return std::all_of(s.multiples.begin(), s.multiples.end(), [&](Wide m) { return value % m == 0; }) &&
         std::none_of(s.not_multiples.begin(), s.not_multiples.end(),
                      [&](Wide m) { return value % m == 0; }) &&
         std::find(s.not_equal.begin(), s.not_equal.end(), value) == s.not_equal.end();
}

// How many decimals a number that fulfils the rule need have at most. Between two different bounds there are
// numbers with one decimal more than theirs, and one more than that is free of what is left out.
int64_t most_decimals(const NumberRule& rule) {
  int64_t most = 0;
  const auto see = [&](const Decimal& d) { most = std::max(most, -d.exponent); };
  for (const Decimal& d : rule.multiples) see(d);
  if (!rule.multiples.empty()) return std::max<int64_t>(1, most);
  if (rule.low) see(*rule.low);
  if (rule.high) see(*rule.high);
  for (const auto* list : {&rule.not_multiples, &rule.not_equal})
    for (const Decimal& d : *list) see(d);
  return most + 2;
}

Decimal negated(Decimal d) {
  d.negative = !d.negative && !d.is_zero();
  return d;
}

// The digits before the point of a bound that numbers of this sign can meet; empty: they do not meet it
// there.
std::string whole_digits(const std::optional<Decimal>& bound, bool negative) {
  if (!bound || bound->is_zero() || bound->negative != negative) return {};
  const int64_t n = static_cast<int64_t>(bound->digits.size()) + bound->exponent;
  if (n <= 0 || n > kMaxDigits) return {};
  std::string out = bound->digits.substr(0, static_cast<size_t>(n));
  out.resize(static_cast<size_t>(n), '0');
  return out;
}

Wide floor_div(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Is there a number in `range` that the rule's divisors and exceptions allow?
bool any_in(const Scaled& s, const Range& range) {
  if (range.low && range.high) {
    if (*range.low > *range.high) return false;
    if (*range.low == *range.high) return !range.low_open && !range.high_open && allowed(s, *range.low);
  }
  // What is left out is countable and sparse; between two different bounds something remains.
  if (s.multiples.empty()) return true;
  const Wide step = *std::max_element(s.multiples.begin(), s.multiples.end());
  constexpr int kTries = 2000;
  Wide k = 0;
  if (range.low) {
    k = -floor_div(-*range.low, step);  // the first multiple not below
    if (range.low_open && k * step == *range.low) ++k;
  } else if (range.high) {
    k = floor_div(*range.high, step) - kTries;
  }
  for (int i = 0; i <= kTries; ++i, ++k) {
    const Wide value = k * step;
    if (range.high && (value > *range.high || (range.high_open && value == *range.high))) return false;
    if (allowed(s, value)) return true;
  }
  return true;
}

}  // namespace

bool NumberRule::free() const {
  return !low && !high && multiples.empty() && not_multiples.empty() && not_equal.empty() &&
         !whole_spelling && !other_spelling;
}

bool NumberRule::whole_numbers(bool negative) const {
  const std::optional<Decimal>& bound = negative ? low : high;  // away from zero
  const bool reaches_zero = negative ? !high || *high > Decimal() || (high->is_zero() && !high_open)
                                     : !low || *low < Decimal() || (low->is_zero() && !low_open);
  return !bound && reaches_zero && not_multiples.empty() && not_equal.empty() && multiples.size() == 1 &&
         multiples[0].key() == "1e0" && !other_spelling;
}

void NumberRule::raise(const Decimal& bound, bool open) {
  if (!low || bound > *low) {
    low = bound;
    low_open = open;
  } else if (bound == *low) {
    low_open = low_open || open;
  }
}

void NumberRule::lower(const Decimal& bound, bool open) {
  if (!high || bound < *high) {
    high = bound;
    high_open = open;
  } else if (bound == *high) {
    high_open = high_open || open;
  }
}

void NumberRule::add(const NumberRule& other) {
  if (other.low) raise(*other.low, other.low_open);
  if (other.high) lower(*other.high, other.high_open);
  const auto append = [](std::vector<Decimal>& to, const std::vector<Decimal>& from) {
    for (const Decimal& d : from)
      if (std::find(to.begin(), to.end(), d) == to.end()) to.push_back(d);
  };
  append(multiples, other.multiples);
  append(not_multiples, other.not_multiples);
  append(not_equal, other.not_equal);
  whole_spelling = whole_spelling || other.whole_spelling;
  other_spelling = other_spelling || other.other_spelling;
}

bool NumberRule::holds(const Decimal& value) const {
  if (low && (value < *low || (low_open && value == *low))) return false;
  if (high && (value > *high || (high_open && value == *high))) return false;
  for (const Decimal& m : multiples)
    if (!is_multiple(value, m)) return false;
  for (const Decimal& m : not_multiples)
    if (is_multiple(value, m)) return false;
  return std::find(not_equal.begin(), not_equal.end(), value) == not_equal.end();
}

bool NumberRule::possible() const {
  if (whole_spelling && other_spelling) return false;
  if (low && high && (*low > *high || (*low == *high && (low_open || high_open || !holds(*low)))))
    return false;
  const auto s = rescale(*this, 0);
  return !s || any_in(*s, s->range);
}

void NumberRule::shorten(std::string& text) const {
  if (!not_multiples.empty() || !not_equal.empty()) return;
  if (multiples.size() > 1 || (multiples.size() == 1 && multiples[0] != Decimal::integer(1))) return;
  const bool negative = text[0] == '-';
  const size_t begin = negative, point = std::min(text.find('.'), text.size());
  if (begin == point || text[begin] == '0') return;
  std::string whole = text.substr(begin, point - begin);
  const std::string bounds[2] = {whole_digits(low, negative), whole_digits(high, negative)};
  const size_t most = std::max(bounds[0].size(), bounds[1].size());
  if ((low && std::abs(low->exponent) > kMaxDigits) || (high && std::abs(high->exponent) > kMaxDigits))
    return;
  if (whole.size() > most) {  // past all bounds
    whole.assign(most + 1, '0');
    whole[0] = '1';
  } else {
    // Where it lies among the beginnings of the bounds is all that counts.
    std::string found = "1" + std::string(whole.size() - 1, '0');
    const auto alike = [&](const std::string& other) {
      return std::all_of(std::begin(bounds), std::end(bounds), [&](const std::string& bound) {
        if (bound.size() < whole.size()) return true;
        const int a = whole.compare(0, whole.npos, bound, 0, whole.size());
        const int b = other.compare(0, other.npos, bound, 0, whole.size());
        return (a < 0) == (b < 0) && (a > 0) == (b > 0);
      });
    };
    for (const std::string& bound : bounds) {
      if (bound.size() < whole.size() || alike(found)) continue;
      found = bound.substr(0, whole.size());
      if (alike(found)) continue;
      size_t last = found.size();  // the next number
      while (last > 0 && found[last - 1] == '9') found[--last] = '0';
      if (last > 0) ++found[last - 1];
    }
    if (alike(found)) whole = std::move(found);
  }
  std::string rest = text.substr(point);
  if (whole != bounds[0] && whole != bounds[1])  // no digit behind the point decides
    std::fill(rest.begin() + !rest.empty(), rest.end(), '0');
  text.replace(begin, text.npos, whole + rest);
}

bool NumberRule::can_begin(std::string_view text) const {
  if (free()) return true;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const size_t point = text.find('.');
  if (whole_spelling && point != std::string_view::npos) return false;
  const auto fraction = static_cast<int64_t>(point == std::string_view::npos ? 0 : text.size() - point - 1);
  // Two decimals more than the rule has are enough to meet it; more could go on without end.
  if (const int64_t enough = most_decimals(*this); fraction >= enough) {
    const auto value = Decimal::parse(text);
    return fraction == enough && value && holds(negative ? negated(*value) : *value);
  }
  const auto s = rescale(*this, fraction);
  if (!s) return true;
  Wide unit = 1;  // of the last digit written
  for (int64_t i = 0; i < s->scale - fraction; ++i) unit *= 10;
  const auto reaches = [&](Wide from, Wide to) {  // [from, to)
    Range written;
    written.low = negative ? -to : from;
    written.high = negative ? -from : to;
    (negative ? written.low_open : written.high_open) = true;
    return any_in(*s, meet(s->range, written));
  };
  if (text.empty()) {  // only a sign
    Range written;
    written.high = 0;
    return any_in(*s, meet(s->range, written));
  }
  Wide digits = 0;
  for (const char c : text) {
    if (c == '.') continue;
    if (digits > Wide{1} << 60 || unit > Wide{1} << 60) return true;
    digits = digits * 10 + (c - '0');
  }
  const bool grows = point == std::string_view::npos && text != "0";  // more whole digits may come
  constexpr Wide kLargest = Wide{1} << 120;
  Wide from = digits * unit, width = unit;
  while (from < kLargest) {
    if (reaches(from, from + width)) return true;
    const std::optional<Wide>& bound = negative ? s->range.low : s->range.high;
    if (!grows || (bound && from > (negative ? -*bound : *bound))) return false;
    from *= 10;
    width *= 10;
  }
  return true;
}

}  // namespace ingle::constrain
