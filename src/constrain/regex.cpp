#include "constrain/regex.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "constrain/nfa.h"
#include "constrain/utf8_ranges.h"
#include "core/error.h"

namespace ingle::constrain {
namespace {

Nfa build(const RegexNode& tree, Anchoring anchoring, Budget& budget, const std::string& where) {
  NfaBuilder builder(budget, where);
  const auto any_loop = [&](int32_t state) { builder.set({{0, kMaxCodePoint}}, state, state); };
  const int32_t begin = builder.add(), first = builder.add();
  builder.nfa[begin].free.push_back(first);
  int32_t last = builder.node(tree, first);
  if (anchoring == Anchoring::search) {
    any_loop(first);
    const int32_t loop = builder.add();
    builder.nfa[last].free.push_back(loop);
    any_loop(loop);
    last = loop;
  }
  const int32_t final_state = builder.add();  // nothing leaves it
  builder.nfa[last].free.push_back(final_state);
  return std::move(builder.nfa);
}

// Sets of NFA states become the DFA's.
class Determiniser {
 public:
  Determiniser(const Nfa& nfa, Budget& budget, const std::string& where)
      : nfa_(nfa), budget_(budget), where_(where), mark_(nfa.states.size()) {}

  Dfa run() {
    classes();
    out_.start = 0;
    std::vector<int32_t> first{0};
    close(first, true, false);
    number(first);
    for (size_t i = 0; i < order_.size(); ++i) {
      budget_.take(&Budget::dfa_states, 1, where_);
      work(static_cast<int64_t>(order_[i].size()));
      out_.label.push_back(accepts(order_[i], i == 0) ? 0 : -1);
      for (int32_t c = 0; c < out_.n_classes; ++c)
        out_.next.push_back(step(order_[i], sample_[static_cast<size_t>(c)]));
    }
    return trim(out_);
  }

 private:
  void work(int64_t n) {
    constexpr int64_t kMost = 4'000'000;
    work_ += n;
    if (work_ > kMost) Budget::exceeded(where_);
    budget_.step(n, where_);
  }
  void classes() {
    std::array<bool, 257> cut{};
    for (const Nfa::State& s : nfa_.states)
      for (const Nfa::Edge& e : s.edges) cut[e.low] = cut[static_cast<size_t>(e.high) + 1] = true;
    int32_t n = -1;
    for (size_t b = 0; b < 256; ++b) {
      if (b == 0 || cut[b]) {
        ++n;
        sample_.push_back(static_cast<uint8_t>(b));
      }
      out_.classes[b] = static_cast<uint8_t>(n);
    }
    out_.n_classes = n + 1;
  }

  // Adds what empty edges reach; sorts.
  void close(std::vector<int32_t>& set, bool at_begin, bool at_end) {
    ++round_;
    for (const int32_t s : set) mark_[static_cast<size_t>(s)] = round_;
    for (size_t i = 0; i < set.size(); ++i) {
      const Nfa::State& state = nfa_[set[i]];
      const auto follow = [&](const std::vector<int32_t>& edges) {
        for (const int32_t to : edges)
          if (mark_[static_cast<size_t>(to)] != round_) {
            mark_[static_cast<size_t>(to)] = round_;
            set.push_back(to);
          }
      };
      follow(state.free);
      if (at_begin) follow(state.at_begin);
      if (at_end) follow(state.at_end);
    }
    std::sort(set.begin(), set.end());
  }

  bool accepts(std::vector<int32_t> set, bool at_begin) {
    close(set, at_begin, true);
    return set.back() == static_cast<int32_t>(nfa_.states.size()) - 1;
  }

  int32_t step(const std::vector<int32_t>& set, uint8_t byte) {
    ++round_;
    std::vector<int32_t> to;
    for (const int32_t s : set)
      for (const Nfa::Edge& e : nfa_[s].edges)
        if (byte >= e.low && byte <= e.high && mark_[static_cast<size_t>(e.to)] != round_) {
          mark_[static_cast<size_t>(e.to)] = round_;
          to.push_back(e.to);
        }
    if (to.empty()) return -1;
    close(to, false, false);
    return number(std::move(to));
  }

  int32_t number(std::vector<int32_t> set) {
    const auto [at, fresh] = numbers_.emplace(set, static_cast<int32_t>(order_.size()));
    if (fresh) order_.push_back(std::move(set));
    return at->second;
  }

  const Nfa& nfa_;
  Budget& budget_;
  int64_t work_ = 0;  // NFA states in all sets together
  const std::string& where_;
  std::vector<int64_t> mark_;
  int64_t round_ = 0;
  std::unordered_map<std::vector<int32_t>, int32_t, StatesHash> numbers_;
  std::vector<std::vector<int32_t>> order_;
  std::vector<uint8_t> sample_;
  Dfa out_;
};

}  // namespace

Dfa compile_regex(std::string_view pattern, Anchoring anchoring, Budget& budget, const std::string& where) {
  const RegexNode tree = parse_regex(pattern, where);
  const Nfa nfa = build(tree, anchoring, budget, where);
  return Determiniser(nfa, budget, where).run();
}

}  // namespace ingle::constrain
