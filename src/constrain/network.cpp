#include "constrain/network.h"

#include <algorithm>

#include "core/error.h"

namespace ingle::constrain {
namespace {

size_t at(int32_t i) { return static_cast<size_t>(i); }

bool has_assertion(const RegexNode& n) {
  return n.kind == RegexNode::Kind::begin || n.kind == RegexNode::Kind::end ||
         std::any_of(n.children.begin(), n.children.end(), has_assertion);
}

// Rules as parts of one automaton: where each begins, and where it ends.
struct Parts {
  Nfa nfa;
  std::vector<int32_t> starts, ends;
};
Parts build_parts(const Rules& rules, Budget& budget, const std::string& where) {
  Parts out;
  NfaBuilder builder(budget, where);
  for (const Rules::Rule& rule : rules.rules) {
    if (has_assertion(rule.body)) fail(Code::unsupported, where, "an assertion cannot be held in a grammar");
    out.starts.push_back(builder.add());
    out.ends.push_back(builder.node(rule.body, out.starts.back()));
  }
  out.nfa = std::move(builder.nfa);
  return out;
}

// The states from which their rule's end can be reached.
std::vector<bool> find_alive(const Parts& parts) {
  const std::vector<Nfa::State>& states = parts.nfa.states;
  const std::vector<int32_t>& starts = parts.starts;
  std::vector<bool> alive(states.size());
  struct Way {  // into a state: from another one, if the rule (-1: none) has a text
    int32_t from, rule;
  };
  std::vector<std::vector<Way>> ways(states.size());
  std::vector<std::vector<Way>> waiting(starts.size());  // by rule: where it is called, and what follows
  std::vector<int32_t> rule_of(states.size(), -1), open;
  for (size_t r = 0; r < starts.size(); ++r) rule_of[at(starts[r])] = static_cast<int32_t>(r);
  for (size_t s = 0; s < states.size(); ++s) {
    const auto from = static_cast<int32_t>(s);
    for (const Network::Edge& e : states[s].edges) ways[at(e.to)].push_back({from, -1});
    for (const Network::Call& c : states[s].calls) {
      ways[at(c.to)].push_back({from, c.rule});
      waiting[at(c.rule)].push_back({from, c.to});
    }
    for (const int32_t to : states[s].free) ways[at(to)].push_back({from, -1});
  }
  const auto reach = [&](int32_t s) {
    if (alive[at(s)]) return;
    alive[at(s)] = true;
    open.push_back(s);
  };
  for (const int32_t s : parts.ends) reach(s);
  while (!open.empty()) {
    const int32_t s = open.back();
    open.pop_back();
    for (const Way& w : ways[at(s)])
      if (w.rule < 0 || alive[at(starts[at(w.rule)])]) reach(w.from);
    if (rule_of[at(s)] >= 0)
      for (const Way& w : waiting[at(rule_of[at(s)])])
        if (alive[at(w.rule)]) reach(w.from);  // here `rule` is the state that follows
  }
  return alive;
}

}  // namespace

Network build_network(const Rules& rules, Budget& budget, const std::string& where) {
  const Parts parts = build_parts(rules, budget, where);
  const std::vector<Nfa::State>& states = parts.nfa.states;
  const std::vector<bool> living = find_alive(parts);
  Network out;
  out.root = rules.root;
  out.starts = parts.starts;
  for (int32_t& s : out.starts)
    if (!living[at(s)]) s = -1;
  out.final_states.resize(states.size());
  for (const int32_t s : parts.ends) out.final_states[at(s)] = 1;
  const auto alive = [&](int32_t s) { return living[at(s)]; };
  for (const Nfa::State& s : states) {
    out.edge_ranges.begin.push_back(static_cast<uint32_t>(out.edge_list.size()));
    out.call_ranges.begin.push_back(static_cast<uint32_t>(out.call_list.size()));
    out.free_ranges.begin.push_back(static_cast<uint32_t>(out.free_list.size()));
    for (const Network::Edge& e : s.edges)
      if (alive(e.to)) out.edge_list.push_back(e);
    for (const Network::Call& c : s.calls)
      if (alive(c.to) && out.starts[at(c.rule)] >= 0) out.call_list.push_back(c);
    for (const int32_t to : s.free)
      if (alive(to)) out.free_list.push_back(to);
  }
  out.edge_ranges.begin.push_back(static_cast<uint32_t>(out.edge_list.size()));
  out.call_ranges.begin.push_back(static_cast<uint32_t>(out.call_list.size()));
  out.free_ranges.begin.push_back(static_cast<uint32_t>(out.free_list.size()));
  // Tails: no edge and no call is reached for free.
  const size_t n = states.size();
  out.tails.assign(n, 1);
  std::vector<std::vector<int32_t>> before(n);
  std::vector<int32_t> open;
  for (size_t s = 0; s < n; ++s) {
    const auto state = static_cast<int32_t>(s);
    for (const int32_t to : out.free(state)) before[at(to)].push_back(state);
    if (out.edges(state).empty() && out.calls(state).empty()) continue;
    out.tails[s] = 0;
    open.push_back(state);
  }
  while (!open.empty()) {
    const int32_t s = open.back();
    open.pop_back();
    for (const int32_t b : before[at(s)])
      if (out.tails[at(b)]) {
        out.tails[at(b)] = 0;
        open.push_back(b);
      }
  }
  return out;
}

}  // namespace ingle::constrain
