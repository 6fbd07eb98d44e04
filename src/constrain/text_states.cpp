#include "constrain/text_states.h"

#include <algorithm>
#include <map>

namespace ingle::constrain {
namespace {

size_t at(int32_t i) { return static_cast<size_t>(i); }

bool is_plain(int b) { return b >= 0x20 && b < 0x80 && b != '"' && b != '\\'; }

// Do all characters that begin with this byte lead from `state` back to it?
bool all_stay(const Dfa& dfa, int32_t state, uint8_t lead) {
  const Dfa& any = *any_text();
  std::vector<std::pair<int32_t, int32_t>> open{{dfa.step(state, lead), any.step(0, lead)}};
  if (open[0].first < 0 || open[0].second < 0) return false;
  for (size_t i = 0; i < open.size() && i < 1000; ++i) {
    const auto [s, a] = open[i];
    if (a == 0) {
      if (s != state) return false;
      continue;
    }
    for (int b = 0x80; b < 0xC0; ++b) {
      const int32_t to = dfa.step(s, static_cast<uint8_t>(b)), other = any.step(a, static_cast<uint8_t>(b));
      if ((to < 0) != (other < 0)) return false;
      const std::pair next(to, other);
      if (to >= 0 && std::find(open.begin(), open.end(), next) == open.end()) open.push_back(next);
    }
  }
  return open.size() < 1000;
}

}  // namespace

TextStates::TextStates(const Dfa& dfa)
    : dfa_(&dfa),
      as_(at(dfa.size()), -1),
      labels_(as_.size(), -1),
      live_(as_.size()),
      special_(as_.size()),
      loops_(as_.size()) {
  for (int32_t s = 0; s < dfa.size(); ++s)
    if (as_[at(s)] < 0 && dfa.label[at(s)] >= 0 && dfa.step(s, 'a') == s && dfa.step(s, '0') == s &&
        dfa.step(s, ' ') == s && dfa.step(s, '/') == s)
      compare(s);
}

void TextStates::compare(int32_t state) {
  const Dfa& any = *any_text();
  const int32_t label = dfa_->label[at(state)];
  std::map<int32_t, int32_t> like{{state, 0}};
  std::vector<int32_t> open{state};
  while (!open.empty()) {
    const int32_t s = open.back(), a = like[s];
    open.pop_back();
    if ((a == 0 ? label : -1) != dfa_->label[at(s)]) return;
    for (int b = 0; b < 256; ++b) {
      const int32_t to = dfa_->step(s, static_cast<uint8_t>(b)), other = any.step(a, static_cast<uint8_t>(b));
      if ((to < 0) != (other < 0)) return;
      if (to < 0) continue;
      const auto [found, fresh] = like.emplace(to, other);
      if (found->second != other || like.size() > 64) return;
      if (fresh) open.push_back(to);
    }
  }
  for (const auto& [s, a] : like) {
    as_[at(s)] = static_cast<int8_t>(a);
    labels_[at(s)] = label;
  }
  if (free_label_ < 0) free_label_ = label;
}

const TextStates::Bytes* TextStates::live(int32_t state) {
  constexpr size_t kMany = 48;
  auto& known = live_[at(state)];
  if (!known) {
    Bytes bytes;
    for (int b = 0x20; b < 256; ++b)
      if (b == '"' || b == '\\' || dfa_->step(state, static_cast<uint8_t>(b)) >= 0)
        bytes.push_back(static_cast<uint8_t>(b));
    known = std::make_unique<const Bytes>(std::move(bytes));
  }
  return known->size() <= kMany ? known.get() : nullptr;
}

const TextStates::Bytes& TextStates::special(int32_t state) {
  auto& known = special_[at(state)];
  if (known) return *known;
  Bytes bytes;
  for (int b = 0x20; b < 256; ++b) {
    const int32_t to = dfa_->step(state, static_cast<uint8_t>(b));
    const int32_t any = any_text()->step(0, static_cast<uint8_t>(b));
    if (any < 0) continue;
    const bool free = to >= 0 && free_as(to) == any && label_of_free(to) == free_label_;
    if (!free || b == '"' || b == '\\') bytes.push_back(static_cast<uint8_t>(b));
  }
  known = std::make_unique<const Bytes>(std::move(bytes));
  return *known;
}

TextStates::Loop TextStates::find_loop(int32_t state) const {
  Loop out;
  std::map<int32_t, int> targets;
  for (int b = 0; b < 128; ++b)
    if (is_plain(b))
      if (const int32_t to = dfa_->step(state, static_cast<uint8_t>(b)); to >= 0) ++targets[to];
  int most = 10;
  for (const auto& [to, n] : targets)
    if (n > most) {
      most = n;
      out.in = to;
    }
  if (out.in < 0) return out;
  for (int i = 0; i < 256; ++i) {
    const auto b = static_cast<uint8_t>(i);
    const int32_t from = dfa_->step(state, b), in = dfa_->step(out.in, b);
    if (i < 128 ? !is_plain(i) || in != out.in : in < 0 || !all_stay(*dfa_, out.in, b)) continue;
    out.bytes[b] = true;
    out.first[b] = from == in;
  }
  if (out.bytes.count() < 10) out.in = -1;
  return out;
}

bool TextStates::total(int32_t state) {
  if (total_.empty()) find_total();
  return total_[at(state)] != 0;
}

// Side by side with any_text(), from the start on; those that stop short of something are found first, then
// what leads to them.
void TextStates::find_total() {
  constexpr size_t kMost = 20'000;
  total_.assign(as_.size(), 0);
  const Dfa& any = *any_text();
  std::vector<uint8_t> bytes;  // one of each kind
  std::map<std::pair<uint8_t, uint8_t>, int> kinds;
  for (int b = 0; b < 256; ++b)
    if (kinds.emplace(std::pair(dfa_->classes[at(b)], any.classes[at(b)]), b).second)
      bytes.push_back(static_cast<uint8_t>(b));
  struct Pair {
    int32_t state, any;
    bool short_of = false;
    std::vector<uint32_t> before;
  };
  std::vector<Pair> pairs{{dfa_->start, 0, false, {}}};
  std::map<std::pair<int32_t, int32_t>, uint32_t> numbers{{{dfa_->start, 0}, 0}};
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < pairs.size(); ++i) {
    if (pairs.size() > kMost) return;
    for (const uint8_t b : bytes) {
      const int32_t to = dfa_->step(pairs[i].state, b), other = any.step(pairs[i].any, b);
      if (other < 0) continue;
      if (to < 0) {
        if (!pairs[i].short_of) open.push_back(i);
        pairs[i].short_of = true;
        continue;
      }
      const auto [found, fresh] = numbers.emplace(std::pair(to, other), static_cast<uint32_t>(pairs.size()));
      if (fresh) pairs.push_back({to, other, false, {}});
      pairs[found->second].before.push_back(i);
    }
  }
  while (!open.empty()) {
    const uint32_t last = open.back();
    open.pop_back();
    for (const uint32_t i : pairs[last].before) {
      if (!pairs[i].short_of) open.push_back(i);
      pairs[i].short_of = true;
    }
  }
  for (const Pair& p : pairs)
    if (p.any == 0) total_[at(p.state)] = !p.short_of;
}

const TextStates::Loop* TextStates::loop(int32_t state) {
  auto& known = loops_[at(state)];
  if (!known) known = std::make_unique<const Loop>(find_loop(state));
  return known->in >= 0 ? known.get() : nullptr;
}

}  // namespace ingle::constrain
