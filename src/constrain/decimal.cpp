#include "constrain/decimal.h"

#include <algorithm>

namespace ingle::constrain {
namespace {

constexpr int64_t kMaxExponent = 1'000'000'000;

// 10^power mod m, for m < 2^60.
uint64_t power_of_ten(uint64_t power, uint64_t m) {
  using Wide = unsigned __int128;
  Wide result = 1 % m, base = 10 % m;
  for (; power; power >>= 1) {
    if (power & 1) result = result * base % m;
    base = base * base % m;
  }
  return static_cast<uint64_t>(result);
}

Decimal canonical(bool negative, const std::string& digits, int64_t exponent) {
  const size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return {};
  const size_t last = digits.find_last_not_of('0');
  exponent += static_cast<int64_t>(digits.size() - 1 - last);
  return {negative, digits.substr(first, last - first + 1), exponent};
}

std::strong_ordering compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.is_zero() || b.is_zero()) return !a.is_zero() <=> !b.is_zero();
  const int64_t top_a = static_cast<int64_t>(a.digits.size()) + a.exponent;
  const int64_t top_b = static_cast<int64_t>(b.digits.size()) + b.exponent;
  if (top_a != top_b) return top_a <=> top_b;
  const int order = a.digits.compare(b.digits);  // a prefix is smaller: the rest is not all zeros
  return order <=> 0;
}

}  // namespace

std::optional<Decimal> Decimal::parse(std::string_view text) {
  size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  at += negative;
  std::string digits;
  int64_t exponent = 0;
  bool fraction = false;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      fraction = true;
    } else {
      digits += text[at];
      exponent -= fraction;
    }
  }
  if (at < text.size()) {
    ++at;
    const bool minus = at < text.size() && text[at] == '-';
    at += at < text.size() && (text[at] == '-' || text[at] == '+');
    int64_t written = 0;
    for (; at < text.size(); ++at) written = std::min(written * 10 + (text[at] - '0'), 2 * kMaxExponent);
    if (written > kMaxExponent && digits.find_first_not_of('0') != std::string::npos) return std::nullopt;
    exponent += minus ? -written : written;
  }
  return canonical(negative, std::move(digits), exponent);
}

Decimal Decimal::integer(int64_t value) {
  const std::string text = std::to_string(value);
  return *parse(text);
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  const bool below = negative && !is_zero(), other_below = other.negative && !other.is_zero();
  if (below != other_below) return below ? std::strong_ordering::less : std::strong_ordering::greater;
  return below ? compare_magnitudes(other, *this) : compare_magnitudes(*this, other);
}

std::string Decimal::key() const {
  if (is_zero()) return "0";
  return (negative ? "-" : "") + digits + "e" + std::to_string(exponent);
}

bool fits_divisor(const Decimal& divisor) { return divisor.digits.size() <= 18; }

bool is_multiple(const Decimal& value, const Decimal& divisor) {
  if (value.is_zero()) return true;
  if (divisor.is_zero() || !fits_divisor(divisor)) return false;
  // Ten does not divide the canonical digits, so a finer value is no multiple of a coarser divisor.
  if (value.exponent < divisor.exponent) return false;
  const uint64_t m = std::stoull(divisor.digits);
  uint64_t rest = 0;
  for (const char c : value.digits)
    rest = static_cast<uint64_t>(
        (static_cast<unsigned __int128>(rest) * 10 + static_cast<unsigned>(c - '0')) % m);
  const uint64_t power = power_of_ten(static_cast<uint64_t>(value.exponent - divisor.exponent), m);
  return static_cast<unsigned __int128>(rest) * power % m == 0;
}

}  // namespace ingle::constrain
