#include "constrain/nfa.h"

#include <array>

#include "constrain/utf8_ranges.h"

namespace ingle::constrain {

int32_t NfaBuilder::add() {
  budget_.take(&Budget::nfa_states, 1, where_);
  nfa.states.emplace_back();
  return static_cast<int32_t>(nfa.states.size()) - 1;
}

void NfaBuilder::set(const CodePoints& points, int32_t from, int32_t to) {
  // tails[n]: from there n continuation bytes lead to `to`.
  std::array<int32_t, 4> tails{to, -1, -1, -1};
  const auto tail = [&](size_t n) {
    for (size_t i = 1; i <= n; ++i) {
      if (tails[i] >= 0) continue;
      tails[i] = add();
      nfa[tails[i]].edges.push_back({0x80, 0xBF, tails[i - 1]});
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
        nfa[here].edges.push_back({ranges[i].low, ranges[i].high, next});
        here = next;
      }
    });
}

int32_t NfaBuilder::node(const RegexNode& n, int32_t from) {
  using Kind = RegexNode::Kind;
  switch (n.kind) {
    case Kind::sequence:
      for (const RegexNode& child : n.children) from = node(child, from);
      return from;
    case Kind::text:
      for (const char c : n.text) {
        const int32_t next = add();
        nfa[from].edges.push_back({static_cast<uint8_t>(c), static_cast<uint8_t>(c), next});
        from = next;
      }
      return from;
    case Kind::choice:
      return choice(n, from);
    case Kind::repeat:
      return repeat(n, from);
    case Kind::set:
    case Kind::call:
    case Kind::begin:
    case Kind::end:
      break;
  }
  const int32_t end = add();
  if (n.kind == Kind::set) set(n.set, from, end);
  if (n.kind == Kind::call) nfa[from].calls.push_back({n.rule, end});
  if (n.kind == Kind::begin) nfa[from].at_begin.push_back(end);
  if (n.kind == Kind::end) nfa[from].at_end.push_back(end);
  return end;
}

int32_t NfaBuilder::choice(const RegexNode& n, int32_t from) {
  const int32_t end = add();
  for (const RegexNode& child : n.children) {
    const int32_t begin = add();
    nfa[from].free.push_back(begin);
    const int32_t last = node(child, begin);
    nfa[last].free.push_back(end);
  }
  return end;
}

int32_t NfaBuilder::repeat(const RegexNode& n, int32_t from) {
  const RegexNode& child = n.children.front();
  for (int64_t i = 0; i < n.low; ++i) from = counted(child, from);
  const int32_t end = add();
  if (n.high < 0) {
    const int32_t begin = add();
    nfa[from].free.push_back(begin);
    nfa[begin].free.push_back(end);
    const int32_t last = node(child, begin);
    nfa[last].free.push_back(begin);
    return end;
  }
  for (int64_t i = n.low; i < n.high; ++i) {
    nfa[from].free.push_back(end);
    const int32_t begin = add();
    nfa[from].free.push_back(begin);
    from = counted(child, begin);
  }
  nfa[from].free.push_back(end);
  return end;
}

// What adds no state (a repeated nothing) must cost all the same.
int32_t NfaBuilder::counted(const RegexNode& child, int32_t from) {
  budget_.step(1, where_);
  return node(child, from);
}

}  // namespace ingle::constrain
