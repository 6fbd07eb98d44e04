// Where a text that is being written stands in a grammar.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "constrain/json_cursor.h"

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
  // An owner of null: inside(i) is the part itself, all of it, and is not met again.
  struct PartKey {
    const void* owner = nullptr;
    int64_t state = 0;
    std::vector<uint64_t> set;
    auto operator<=>(const PartKey&) const = default;
  };
  virtual size_t n_parts() const { return 0; }
  virtual PartKey part_key(size_t) const { return {}; }
  virtual std::unique_ptr<Matcher> inside(size_t) const { return nullptr; }
  // Where it has ended, in one of the ways that a text's labels tell apart; null: dead.
  virtual std::unique_ptr<Matcher> outside(size_t, int32_t) const { return nullptr; }
  // Are all parts numbers of JSON?
  virtual bool in_number() const { return false; }
  // May it have ended already?
  virtual bool may_end(size_t) const { return false; }
  // Ends that cannot be, as the bytes from here to there.
  virtual std::vector<std::string> refused(size_t) const { return {}; }

  // Of inside(): has it ended with the last byte?
  enum class Left : uint8_t { no, maybe, surely };
  virtual Left left() const { return Left::no; }

  // A part that is the text of a JSON string or key, up to the quote that ends it.
  struct Text {
    const Dfa* dfa = nullptr;  // null: the part is none
    StringCursor at;
    bool escapes = false;          // may characters be written as escapes?
    int64_t least = 0, most = -1;  // code points of the whole text; -1: no bound
    // Of a key: the labels that can still come, by state, and those of them that may.
    const std::vector<std::vector<uint64_t>>* reach = nullptr;
    std::vector<uint64_t> allowed;
  };
  virtual Text text(size_t) const { return {}; }

  // White space that changes nothing but how much of it came in a row: so much so far; -1: it is not so here.
  // same() and hash() do not tell it.
  static constexpr int kMostBlanks = 20;  // in a row, when writing
  virtual int blanks() const { return -1; }
  // An object or array is open, and no string in it: up to its end what comes is JSON.
  virtual bool in_json() const { return false; }
  // It was made by outside(), and whether it can be depends on a text that was not told there.
  virtual bool doubtful() const { return false; }

  virtual bool may_begin(uint8_t) const { return true; }  // false: surely not

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
