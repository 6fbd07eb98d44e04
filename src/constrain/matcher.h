// Where a text that is being written stands in a grammar.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "constrain/dfa.h"

namespace ingle::constrain {

class Matcher {
 public:
  virtual ~Matcher() = default;
  // Takes one byte. False: no text of the grammar begins so; the matcher is then spent.
  virtual bool advance(uint8_t byte) = 0;
  virtual bool accepting() const = 0;  // is what was taken a whole text of the grammar?
  virtual std::unique_ptr<Matcher> clone() const = 0;
  // The other is of the same grammar.
  virtual void assign(const Matcher& other) = 0;
  virtual bool same(const Matcher& other) const = 0;  // may the same bytes follow? (False is always right.)

  // When all that is open is the inside of one JSON string without a bound on its length: its automaton.
  struct InString {
    const Dfa* dfa = nullptr;
    int32_t state = 0;
  };
  virtual bool in_string(InString&) const { return false; }

  bool advance(std::string_view text) {
    for (const char c : text)
      if (!advance(static_cast<uint8_t>(c))) return false;
    return true;
  }
};

// What a matcher is for. Judging takes every text of the grammar. Writing leaves out spellings that a model
// need never choose (an exponent where a number's value is bounded, escapes in keys, more than a few spaces
// in a row), so that every step that is offered can be completed.
enum class Purpose : uint8_t { judge, write };

}  // namespace ingle::constrain
