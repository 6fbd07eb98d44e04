// Deterministic automata over bytes: every regular language here (patterns, lengths, keys) ends as one. They
// are trimmed: from each state some accepted text can still be reached, so "there is a next state" is the
// exact answer to "can this still become valid".
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingle::constrain {

struct StatesHash {  // of a set or a tuple of states
  size_t operator()(const std::vector<int32_t>& states) const;
};

// What compiling may spend; passing it is Code::unsupported.
struct Budget {
  int64_t dfa_states = 100'000;  // all automata together
  int64_t nfa_states = 400'000;
  int64_t nodes = 20'000;
  int64_t branches = 20'000;         // alternatives of one schema
  int64_t steps = 100'000'000;       // of all kinds together
  int64_t bytes = int64_t{8} << 20;  // of the source
  std::function<bool()> go_on;  // asked now and then, on the thread that compiles; false: Code::cancelled
  // Takes `n` from a field or fails naming `where`.
  void take(int64_t Budget::*field, int64_t n, const std::string& where);
  void step(int64_t n, const std::string& where);
  [[noreturn]] static void exceeded(const std::string& where);
  void check_source(std::string_view source, const std::string& where) const;

 private:
  int64_t unasked_ = 0;  // steps since it was asked
};

struct Dfa {
  std::array<uint8_t, 256> classes{};  // bytes that no state tells apart share one
  int32_t n_classes = 1;
  std::vector<int32_t> next;   // [state][class]; -1: dead
  std::vector<int32_t> label;  // of each state; -1: not accepted here
  int32_t start = -1;          // -1: the language is empty
  // Of each state, how many code points must still come at least; a character that has begun counts no more.
  // Told only where texts have a bound that is not in the states; else empty.
  std::vector<int32_t> need;

  int32_t size() const { return static_cast<int32_t>(label.size()); }
  int32_t step(int32_t state, uint8_t byte) const {
    return next[static_cast<size_t>(state) * static_cast<size_t>(n_classes) + classes[byte]];
  }
  bool empty() const { return start < 0; }
  // Can a text with so many code points up to `state` still end within `most` (-1: no bound)?
  bool ends_within(int32_t state, int64_t length, int64_t most) const {
    return most < 0 || length + (need.empty() ? 0 : need[static_cast<size_t>(state)]) <= most;
  }
  bool accepts(std::string_view text) const;
};
using DfaPtr = std::shared_ptr<const Dfa>;

// Drops states that lead nowhere, and numbers what is left from the start on.
Dfa trim(const Dfa& dfa);
// From which states infinitely many texts can come that need no escapes in JSON, with all their states among
// `states`, from each of which one of them can come.
std::vector<char> endless(const Dfa& dfa, std::vector<char> states);
DfaPtr any_text();  // valid UTF-8, label 0
// Texts, each labelled with its position.
Dfa of_texts(std::span<const std::string> texts);

// Runs automata side by side. `label` gets the state of each (-1: that one is dead) and says what the state
// is
// (-1: not accepted). Where a required automaton is dead, nothing goes on.
using Labeller = std::function<int32_t(std::span<const int32_t> states)>;
Dfa product(std::span<const Dfa* const> parts, std::span<const char> required, const Labeller& label,
            Budget& budget, const std::string& where);
// The texts of `dfa` (UTF-8) with `low` to `high` code points; high -1: no bound.
Dfa with_length(const Dfa& dfa, int64_t low, int64_t high, Budget& budget, const std::string& where);

// Tells Dfa::need.
void find_need(Dfa& dfa);

// Can `dfa` go on from `state` with some code point of [low, high], and end with at most `room` more (-1: any
// number)?
bool steps_on_range(const Dfa& dfa, int32_t state, uint32_t low, uint32_t high, int64_t room = -1);
// -1 when dead.
int32_t step_code_point(const Dfa& dfa, int32_t state, uint32_t code_point);

}  // namespace ingle::constrain
