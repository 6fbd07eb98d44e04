// Exact decimals: JSON's numbers are compared by value, however they are written.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingle::constrain {

// (-1)^negative · digits · 10^exponent. Canonical: no zero at either end of `digits`; zero has no digits.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;

  // Of a JSON number; nothing when its exponent passes ±10^9.
  static std::optional<Decimal> parse(std::string_view text);
  static Decimal integer(int64_t value);
  bool is_zero() const { return digits.empty(); }
  bool operator==(const Decimal&) const = default;
  std::strong_ordering operator<=>(const Decimal& other) const;
  std::string key() const;  // equal for equal values
};

// The largest `divisor.digits` that is_multiple() takes: 18 digits.
bool fits_divisor(const Decimal& divisor);
bool is_multiple(const Decimal& value, const Decimal& divisor);

}  // namespace ingle::constrain
