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
  Entry entry;
  entry.left = at->left();
  entry.takes_blanks = at->blanks() >= 0;
  entry.doubtful = at->doubtful();
  entry.at = std::move(at);
  entries_.push_back(std::move(entry));
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

std::shared_ptr<const Places::Texts> Places::texts_of(const Matcher& at) {
  const size_t n = at.n_parts();
  if (n == 0) return nullptr;
  auto texts = std::make_shared<Texts>();
  for (size_t i = 0; i < n; ++i) {
    Matcher::Text text = at.text(i);
    if (!text.dfa) return nullptr;
    texts->push_back({std::move(text), kNone, at.refused(i)});
  }
  return texts;
}

std::shared_ptr<const Places::Texts> Places::texts(int32_t place) {
  const auto index = static_cast<size_t>(place);
  if (entries_[index].looked_for_texts) return entries_[index].texts;
  const Matcher& at = *entries_[index].at;
  auto found = texts_of(at);
  const size_t n = at.n_parts();
  if (!found && n > 0 && at.in_number()) {
    auto numbers = std::make_shared<Texts>();
    bool kept = true;
    for (size_t i = 0; i < n; ++i) {
      auto inside = at.inside(i);
      numbers->push_back({{}, of(inside), {}});
      kept = kept && numbers->back().inside >= 0;
    }
    if (kept) found = std::move(numbers);
  }
  entries_[index].texts = found;
  entries_[index].looked_for_texts = true;
  return found;
}

int32_t Places::outside(int32_t place, size_t text, int32_t label) {
  for (const Entry::Exit& e : entries_[static_cast<size_t>(place)].exits)
    if (e.text == text && e.label == label) return e.to;
  auto after = at(place).outside(text, label);
  const int32_t to = after ? of(after) : kDead;
  entries_[static_cast<size_t>(place)].exits.push_back({text, label, to});
  return to;
}

void Places::clear() {
  entries_.clear();
  by_hash_.clear();
}

}  // namespace ingle::constrain
