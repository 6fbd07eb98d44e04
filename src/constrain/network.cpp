#include "constrain/network.h"

#include <array>

#include "constrain/utf8_ranges.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

size_t at(int32_t i) { return static_cast<size_t>(i); }

struct State {
  std::vector<Network::Edge> edges;
  std::vector<Network::Call> calls;
  std::vector<int32_t> free;
  bool final = false, alive = false;
};

class Builder {
 public:
  Builder(Budget& budget, const std::string& where) : budget_(budget), where_(where) {}

  std::vector<int32_t> build(const Rules& rules) {
    std::vector<int32_t> starts;
    for (const Rules::Rule& rule : rules.rules) {
      starts.push_back(add());
      states[at(node(rule.body, starts.back()))].final = true;
    }
    return starts;
  }

  std::vector<State> states;

 private:
  int32_t add() {
    budget_.take(&Budget::nfa_states, 1, where_);
    states.emplace_back();
    return static_cast<int32_t>(states.size()) - 1;
  }

  void set(const CodePoints& points, int32_t from, int32_t to) {
    // tails[n]: from there n continuation bytes lead to `to`.
    std::array<int32_t, 4> tails{to, -1, -1, -1};
    const auto tail = [&](size_t n) {
      for (size_t i = 1; i <= n; ++i) {
        if (tails[i] >= 0) continue;
        tails[i] = add();
        states[at(tails[i])].edges.push_back({0x80, 0xBF, tails[i - 1]});
      }
      return tails[n];
    };
    for (const auto& [low, high] : points)
      utf8_ranges(low, high, [&](const ByteRange* ranges, int n) {
        budget_.step(1, where_);
        int whole = 0;  // continuation bytes at the end that may be any
        while (whole < n - 1 && ranges[n - 1 - whole].low == 0x80 && ranges[n - 1 - whole].high == 0xBF)
          ++whole;
        int32_t here = from;
        for (int i = 0; i < n - whole; ++i) {
          const int32_t next = i + 1 == n - whole ? tail(static_cast<size_t>(whole)) : add();
          states[at(here)].edges.push_back({ranges[i].low, ranges[i].high, next});
          here = next;
        }
      });
  }

  // From `from` on; returns where it ends.
  int32_t node(const RegexNode& n, int32_t from) {
    switch (n.kind) {
      case RegexNode::Kind::sequence:
        for (const RegexNode& child : n.children) from = node(child, from);
        return from;
      case RegexNode::Kind::choice: {
        const int32_t end = add();
        for (const RegexNode& child : n.children) {
          const int32_t begin = add();
          states[at(from)].free.push_back(begin);
          const int32_t last = node(child, begin);
          states[at(last)].free.push_back(end);
        }
        return end;
      }
      case RegexNode::Kind::repeat:
        return repeat(n, from);
      case RegexNode::Kind::set: {
        const int32_t end = add();
        set(n.set, from, end);
        return end;
      }
      case RegexNode::Kind::text:
        for (const char c : n.text) {
          const int32_t next = add();
          states[at(from)].edges.push_back({static_cast<uint8_t>(c), static_cast<uint8_t>(c), next});
          from = next;
        }
        return from;
      case RegexNode::Kind::call: {
        const int32_t end = add();
        states[at(from)].calls.push_back({n.rule, end});
        return end;
      }
      case RegexNode::Kind::begin:
      case RegexNode::Kind::end:
        fail(Code::unsupported, where_, "an assertion cannot be held in a grammar");
    }
    return from;
  }

  int32_t repeat(const RegexNode& n, int32_t from) {
    const RegexNode& child = n.children.front();
    for (int64_t i = 0; i < n.low; ++i) from = counted(child, from);
    const int32_t end = add();
    if (n.high < 0) {
      const int32_t begin = add();
      states[at(from)].free.push_back(begin);
      states[at(begin)].free.push_back(end);
      const int32_t last = node(child, begin);
      states[at(last)].free.push_back(begin);
      return end;
    }
    for (int64_t i = n.low; i < n.high; ++i) {
      states[at(from)].free.push_back(end);
      const int32_t begin = add();
      states[at(from)].free.push_back(begin);
      from = counted(child, begin);
    }
    states[at(from)].free.push_back(end);
    return end;
  }

  // What adds no state (a repeated nothing) must cost all the same.
  int32_t counted(const RegexNode& child, int32_t from) {
    budget_.step(1, where_);
    return node(child, from);
  }

  Budget& budget_;
  const std::string& where_;
};

// Marks the states from which their rule's end can be reached.
void find_alive(std::vector<State>& states, const std::vector<int32_t>& starts) {
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
    if (states[s].final) open.push_back(from);
  }
  const auto reach = [&](int32_t s) {
    if (states[at(s)].alive) return;
    states[at(s)].alive = true;
    open.push_back(s);
  };
  for (const int32_t s : open) states[at(s)].alive = true;
  while (!open.empty()) {
    const int32_t s = open.back();
    open.pop_back();
    for (const Way& w : ways[at(s)])
      if (w.rule < 0 || states[at(starts[at(w.rule)])].alive) reach(w.from);
    if (rule_of[at(s)] >= 0)
      for (const Way& w : waiting[at(rule_of[at(s)])])
        if (states[at(w.rule)].alive) reach(w.from);  // here `rule` is the state that follows
  }
}

}  // namespace

Network build_network(const Rules& rules, Budget& budget, const std::string& where) {
  Builder builder(budget, where);
  std::vector<int32_t> starts = builder.build(rules);
  std::vector<State>& states = builder.states;
  find_alive(states, starts);
  Network out;
  out.root = rules.root;
  for (int32_t& s : starts)
    if (!states[at(s)].alive) s = -1;
  out.starts = starts;
  const auto alive = [&](int32_t s) { return states[at(s)].alive; };
  for (const State& s : states) {
    out.edge_ranges.begin.push_back(static_cast<uint32_t>(out.edge_list.size()));
    out.call_ranges.begin.push_back(static_cast<uint32_t>(out.call_list.size()));
    out.free_ranges.begin.push_back(static_cast<uint32_t>(out.free_list.size()));
    out.final_states.push_back(s.final);
    for (const Network::Edge& e : s.edges)
      if (alive(e.to)) out.edge_list.push_back(e);
    for (const Network::Call& c : s.calls)
      if (alive(c.to) && starts[at(c.rule)] >= 0) out.call_list.push_back(c);
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
