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
  virtual size_t hash() const = 0;                    // equal for those that are the same()
  // Does it hold text that was written, so that it will hardly be met again?
  virtual bool remembers() const { return false; }

  // A matcher may be seen as parts, one of whose texts must follow: each is a place inside something (a rule,
  // a string), from which what may come until that ends is told without knowing what it stands in. Equal
  // keys: equal insides. No parts: it cannot be seen so.
  struct PartKey {
    const void* owner;
    int64_t state;
    auto operator<=>(const PartKey&) const = default;
  };
  virtual size_t n_parts() const { return 0; }
  virtual PartKey part_key(size_t) const { return {}; }
  virtual std::unique_ptr<Matcher> inside(size_t) const { return nullptr; }  // alone
  enum class Left : uint8_t { no, maybe, surely };
  virtual Left left() const { return Left::no; }  // of inside(): has it ended with the last byte?
  virtual std::unique_ptr<Matcher> outside(size_t) const {
    return nullptr;
  }  // where it has ended; null: dead

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
