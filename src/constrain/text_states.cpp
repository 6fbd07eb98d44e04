#include "constrain/text_states.h"

#include <map>

namespace ingle::constrain {
namespace {

size_t at(int32_t i) { return static_cast<size_t>(i); }

bool is_plain(int b) { return b >= 0x20 && b < 0x80 && b != '"' && b != '\\'; }

// Do all characters beyond ASCII lead from `state` back to it?
bool all_stay(const Dfa& dfa, int32_t state) {
  const Dfa& any = *any_text();
  std::map<int32_t, int32_t> like{{state, 0}};
  std::vector<int32_t> open{state};
  while (!open.empty()) {
    const int32_t s = open.back(), a = like[s];
    open.pop_back();
    for (int b = 0x80; b < 256; ++b) {
      const int32_t to = dfa.step(s, static_cast<uint8_t>(b)), other = any.step(a, static_cast<uint8_t>(b));
      if ((to < 0) != (other < 0)) return false;
      if (to < 0) continue;
      const auto [found, fresh] = like.emplace(to, other);
      if (found->second != other || (other == 0 && to != state) || like.size() > 64) return false;
      if (fresh) open.push_back(to);
    }
  }
  return true;
}

}  // namespace

TextStates::TextStates(const Dfa& dfa)
    : dfa_(&dfa), as_(at(dfa.size()), -1), labels_(as_.size(), -1), live_(as_.size()), special_(as_.size()), loops_(as_.size()) {
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
  for (int b = 0; b < 128; ++b) {
    if (!is_plain(b)) continue;
    out.first[at(b)] = dfa_->step(state, static_cast<uint8_t>(b)) == out.in;
    out.bytes[at(b)] = dfa_->step(out.in, static_cast<uint8_t>(b)) == out.in;
  }
  bool none = true, alike = true;
  for (int b = 0x80; b < 256; ++b) {
    const int32_t from = dfa_->step(state, static_cast<uint8_t>(b));
    const int32_t in = dfa_->step(out.in, static_cast<uint8_t>(b));
    none = none && from < 0 && in < 0;
    alike = alike && from == in;
  }
  out.beyond_ascii = !none;
  if ((out.first & ~out.bytes).any() || (!none && !(alike && all_stay(*dfa_, out.in)))) out.in = -1;
  return out;
}

const TextStates::Loop* TextStates::loop(int32_t state) {
  auto& known = loops_[at(state)];
  if (!known) known = std::make_unique<const Loop>(find_loop(state));
  return known->in >= 0 ? known.get() : nullptr;
}

}  // namespace ingle::constrain
