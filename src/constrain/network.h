// A grammar's rules as automata over bytes that call each other (a recursive transition network).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "constrain/nfa.h"
#include "constrain/rules.h"

namespace ingle::constrain {

// Trimmed: from each state of a rule its end can be reached, through calls of rules that have a text.
struct Network {
  using Edge = Nfa::Edge;
  using Call = Nfa::Call;
  struct Ranges {  // of each state, in the arrays below
    std::vector<uint32_t> begin;
    template <class T>
    std::span<const T> of(const std::vector<T>& all, int32_t state) const {
      const auto s = static_cast<size_t>(state);
      return {all.data() + begin[s], all.data() + begin[s + 1]};
    }
  };

  std::vector<Edge> edge_list;
  std::vector<Call> call_list;
  std::vector<int32_t> free_list;
  Ranges edge_ranges, call_ranges, free_ranges;
  std::vector<uint8_t> final_states;  // 1: a rule may end here
  std::vector<uint8_t> tails;         // 1: nothing can come here but the rule's end
  std::vector<int32_t> starts;        // of the rules; -1: no text
  int32_t root = 0;

  std::span<const Edge> edges(int32_t state) const { return edge_ranges.of(edge_list, state); }
  std::span<const Call> calls(int32_t state) const { return call_ranges.of(call_list, state); }
  std::span<const int32_t> free(int32_t state) const { return free_ranges.of(free_list, state); }
  bool final(int32_t state) const { return final_states[static_cast<size_t>(state)] != 0; }
  bool tail(int32_t state) const { return tails[static_cast<size_t>(state)] != 0; }
  int32_t start() const { return starts[static_cast<size_t>(root)]; }  // -1: no text is of the grammar
};

Network build_network(const Rules& rules, Budget& budget, const std::string& where);

}  // namespace ingle::constrain
