// Stop strings and stop patterns over streamed text: a false start is held back, never leaked, and the stop
// itself is shown whole or not at all.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constrain/dfa.h"

namespace ingle::engine {

// Finds where an automaton has first matched in streamed text: of the matches that end first, the longest.
// One reading is followed for each state, so the work is linear in the text.
class PatternSearch {
 public:
  explicit PatternSearch(constrain::DfaPtr dfa)
      : dfa_(std::move(dfa)), seen_(static_cast<size_t>(dfa_->size())) {}
  // `at` is the byte's number in the text. True: a match has ended with this byte, and began at begin().
  bool push(uint8_t byte, size_t at);
  size_t begin() const { return begin_; }
  size_t open(
      size_t none) const;  // where the earliest match begins that may still come; `none`: there is none

 private:
  constrain::DfaPtr dfa_;
  std::vector<std::pair<int32_t, size_t>> readings_,
      next_;                  // a state, and the first beginning that led to it
  std::vector<size_t> seen_;  // by state: the last byte's number + 1 that led to it
  size_t begin_ = 0;
};

class StopFilter {
 public:
  StopFilter() = default;
  // Patterns match no empty text. `include`: the stop is the end of what is shown.
  explicit StopFilter(std::vector<std::string> stops, const std::vector<constrain::DfaPtr>& patterns = {},
                      bool include = false);
  // Returns what became certain of not being part of a stop. Once stopped(), the rest is swallowed. When it
  // throws (no memory), nothing has changed.
  std::string push(std::string_view text);
  std::string finish();  // the answer ended otherwise: what was held back belongs to it
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::vector<PatternSearch> patterns_;
  std::string held_;
  size_t before_ = 0;  // bytes of the text before what is held
  bool include_ = false, stopped_ = false;
};

}  // namespace ingle::engine
