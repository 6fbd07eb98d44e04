// What a schema asks of a number, by value: 1, 1.0 and 10e-1 are one number.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "constrain/decimal.h"

namespace ingle::constrain {

struct NumberRule {
  std::optional<Decimal> low, high;
  bool low_open = false, high_open = false;
  std::vector<Decimal> multiples;      // of each; {1} for an integer
  std::vector<Decimal> not_multiples;  // of none
  std::vector<Decimal> not_equal;
  // To draft 4 an integer is a spelling: it has neither point nor exponent, so that 1.0 is none.
  bool whole_spelling = false, other_spelling = false;

  bool free() const;
  bool whole_numbers(bool negative) const;      // all that have this sign, and no others of it
  void raise(const Decimal& bound, bool open);  // low
  void lower(const Decimal& bound, bool open);  // high
  void add(const NumberRule& other);
  bool holds(const Decimal& value) const;
  // Is there any number? Exact unless divisors are very fine or bounds very long; then true.
  bool possible() const;
  // `text` is the beginning of a JSON number without an exponent. Can it be completed, without one, to a
  // number that holds? Exact within the same limits as possible().
  bool can_begin(std::string_view text) const;
  // Puts one beginning for all those that the same may follow: 17 and 23 are alike below 100. `text` can
  // begin a number.
  void shorten(std::string& text) const;
};

}  // namespace ingle::constrain
