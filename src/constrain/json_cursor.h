// Places inside the two tokens of JSON that have an inside: strings and numbers.
#pragma once
#include <cstdint>
#include <string>

#include "constrain/dfa.h"
#include "constrain/number_rule.h"

namespace ingle::constrain {

enum class Step : uint8_t { dead, more, closed };

// In a string, after its opening quote. What an escape means goes through the automaton as its own characters
// do.
struct StringCursor {
  int32_t state = 0;
  int64_t length = 0;  // code points
  uint8_t stage =
      0;  // 0: none; 1: after a backslash; 2 to 5: hexadecimal digits; 6, 7: a second surrogate's \ u
  uint8_t open_bytes = 0;  // of a character that has begun
  uint32_t code = 0, high_surrogate = 0;

  // `high`: the most code points, -1: any number. `decoded`, when given, gets the content.
  Step take(uint8_t byte, const Dfa& dfa, int64_t high, std::string* decoded);
  bool operator==(const StringCursor&) const = default;

 private:
  Step character(uint32_t code_point, const Dfa& dfa, int64_t high, std::string* decoded);
  Step escape(uint8_t byte, const Dfa& dfa, int64_t high, std::string* decoded);
  Step digit(uint8_t byte, const Dfa& dfa, int64_t high, std::string* decoded);
};

struct NumberCursor {
  // 0: start; 1: sign; 2: a leading zero; 3: digits; 4: point; 5: fraction; 6: e; 7: its sign; 8: its digits
  uint8_t stage = 0;
  std::string text;

  // Closed is never returned: a number ends with what follows it.
  Step take(uint8_t byte);
  bool complete() const { return stage == 2 || stage == 3 || stage == 5 || stage == 8; }
  bool operator==(const NumberCursor&) const = default;
};

}  // namespace ingle::constrain
