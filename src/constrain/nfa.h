// Thompson's construction over bytes: what regular expressions and the rules of grammars are built of.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "constrain/dfa.h"
#include "constrain/regex_tree.h"

namespace ingle::constrain {

struct Nfa {
  struct Edge {
    uint8_t low, high;
    int32_t to;
  };
  struct Call {  // of another rule, and where it goes on behind that
    int32_t rule, to;
  };
  struct State {
    std::vector<Edge> edges;
    std::vector<Call> calls;
    std::vector<int32_t> free;              // empty edges
    std::vector<int32_t> at_begin, at_end;  // and those that hold at the text's ends alone
  };
  std::vector<State> states;

  State& operator[](int32_t state) { return states[static_cast<size_t>(state)]; }
  const State& operator[](int32_t state) const { return states[static_cast<size_t>(state)]; }
};

class NfaBuilder {
 public:
  // Both outlive it.
  NfaBuilder(Budget& budget, const std::string& where) : budget_(budget), where_(where) {}
  int32_t add();
  // What `n` stands for, from `from` on; returns where it ends. Nothing leaves that state yet.
  int32_t node(const RegexNode& n, int32_t from);
  void set(const CodePoints& points, int32_t from, int32_t to);

  Nfa nfa;

 private:
  int32_t choice(const RegexNode& n, int32_t from);
  int32_t repeat(const RegexNode& n, int32_t from);
  int32_t counted(const RegexNode& child, int32_t from);

  Budget& budget_;
  const std::string& where_;
};

}  // namespace ingle::constrain
