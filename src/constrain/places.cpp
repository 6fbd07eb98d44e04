#include "constrain/places.h"

#include <typeinfo>

namespace ingle::constrain {

int32_t Places::find(const Matcher& at, size_t hash) const {
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Matcher& known = *entries_[static_cast<size_t>(it->second)].at;
    if (typeid(known) == typeid(at) && at.same(known)) return it->second;
  }
  return kNone;
}

int32_t Places::keep(std::unique_ptr<Matcher> at, size_t hash) {
  const auto number = static_cast<int32_t>(entries_.size());
  const Matcher::Left left = at->left();
  const bool grown = at->grown();
  entries_.push_back({std::move(at), nullptr, left, grown});
  by_hash_.emplace(hash, number);
  return number;
}

int32_t Places::of(const Matcher& at) {
  if (at.remembers()) return kNone;
  const size_t hash = at.hash();
  const int32_t known = find(at, hash);
  return known != kNone || full() ? known : keep(at.clone(), hash);
}

int32_t Places::of(std::unique_ptr<Matcher>& at) {
  if (at->remembers()) return kNone;
  const size_t hash = at->hash();
  const int32_t known = find(*at, hash);
  return known != kNone || full() ? known : keep(std::move(at), hash);
}

int32_t Places::find_step(int32_t place, uint8_t byte) {
  auto& next = entries_[static_cast<size_t>(place)].next;
  if (!next) {
    next = std::make_unique<std::array<int32_t, 256>>();
    next->fill(kUnknown);
  }
  if (!entries_[static_cast<size_t>(place)].at->may_begin(byte)) return (*next)[byte] = kDead;
  auto to = entries_[static_cast<size_t>(place)].at->clone();
  const int32_t number = to->advance(byte) ? of(to) : kDead;
  (*entries_[static_cast<size_t>(place)].next)[byte] = number;
  return number;
}

void Places::clear() {
  entries_.clear();
  by_hash_.clear();
}

}  // namespace ingle::constrain
