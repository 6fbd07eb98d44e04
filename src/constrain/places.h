// The places of a grammar that were met, by number, and the ways between them: a matcher as an automaton that
// grows as it is walked.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "constrain/matcher.h"

namespace ingle::constrain {

class Places {
 public:
  static constexpr int32_t kDead = -1;
  static constexpr int32_t kNone =
      -2;  // a place that is not kept: its matcher remembers text, or all is full
  // kNone where it cannot be kept.
  int32_t of(const Matcher& at);
  int32_t of(std::unique_ptr<Matcher>& at);  // takes it where the place is new
  int32_t step(int32_t place, uint8_t byte) {
    const auto& next = entries_[static_cast<size_t>(place)].next;
    if (next)
      if (const int32_t to = (*next)[byte]; to != kUnknown) return to;
    return find_step(place, byte);
  }
  const Matcher& at(int32_t place) const { return *entries_[static_cast<size_t>(place)].at; }
  Matcher::Left left(int32_t place) const { return entries_[static_cast<size_t>(place)].left; }
  bool takes_blanks(int32_t place) const { return entries_[static_cast<size_t>(place)].takes_blanks; }
  bool doubtful(int32_t place) const { return entries_[static_cast<size_t>(place)].doubtful; }
  // The texts or numbers of which one goes on here; none: the place is not (only) in such.
  struct Text {
    Matcher::Text text;
    int32_t inside = kNone;  // where it is none: the place in the part
    std::vector<std::string> refused;
  };
  using Texts = std::vector<Text>;
  std::shared_ptr<const Texts> texts(int32_t place);                // null: none
  static std::shared_ptr<const Texts> texts_of(const Matcher& at);  // no numbers
  // Where the text has ended; kDead, or kNone: the place is not kept.
  int32_t outside(int32_t place, size_t text, int32_t label);
  size_t size() const { return entries_.size(); }
  bool full() const { return size() >= kMost; }
  void clear();

 private:
  static constexpr int32_t kUnknown = -3;
  static constexpr size_t kMost = 16'384;
  struct Entry {
    std::unique_ptr<Matcher> at;
    std::unique_ptr<std::array<int32_t, 256>> next;
    Matcher::Left left;
    bool takes_blanks, doubtful, looked_for_texts = false;
    std::shared_ptr<const Texts> texts;
    struct Exit {
      size_t text;
      int32_t label, to;
    };
    std::vector<Exit> exits;
  };
  int32_t find_step(int32_t place, uint8_t byte);
  int32_t find(const Matcher& at, size_t hash) const;  // kNone: not met
  int32_t keep(std::unique_ptr<Matcher> at, size_t hash);
  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, int32_t> by_hash_;
};

}  // namespace ingle::constrain
