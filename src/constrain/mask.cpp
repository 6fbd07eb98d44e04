#include "constrain/mask.h"

#include <algorithm>

#include "constrain/dfa.h"

namespace ingle::constrain {
namespace {

constexpr size_t kMostMasks = 1024, kMostParts = 256;
constexpr size_t kMaxPieceBytes = 255;  // longer tokens are never offered

}  // namespace

TokenTrie::TokenTrie(std::span<const std::string> pieces) : n_tokens_(static_cast<int64_t>(pieces.size())) {
  std::vector<int32_t> order;
  for (size_t i = 0; i < pieces.size(); ++i)
    if (!pieces[i].empty() && pieces[i].size() <= kMaxPieceBytes) order.push_back(static_cast<int32_t>(i));
  const auto piece = [&](int32_t id) -> const std::string& { return pieces[static_cast<size_t>(id)]; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int c = piece(a).compare(piece(b));
    return c != 0 ? c < 0 : a < b;
  });
  std::vector<uint32_t> open;  // the path to the last piece
  const auto close = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back())
      nodes_[open.back()].next = static_cast<uint32_t>(nodes_.size());
  };
  std::string_view last;
  for (const int32_t id : order) {
    const std::string& p = piece(id);
    const auto common =
        static_cast<size_t>(std::mismatch(p.begin(), p.end(), last.begin(), last.end()).first - p.begin());
    close(common);
    for (size_t d = common; d < p.size(); ++d) {
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({static_cast<uint8_t>(p[d]), static_cast<uint8_t>(d + 1), 0,
                        static_cast<uint32_t>(tokens_.size()), 0});
    }
    ++nodes_[open.back()].n_tokens;
    tokens_.push_back(id);
    last = p;
  }
  close(0);
}

bool TokenMask::none() const {
  return std::all_of(bits_.begin(), bits_.end(), [](uint64_t b) { return b == 0; });
}

void TokenMask::add(const TokenMask& other) {
  for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
}

void Masker::put(const TokenTrie::Node& node, TokenMask& out) const {
  for (uint32_t i = 0; i < node.n_tokens; ++i) out.add(trie_->tokens()[node.first_token + i]);
}

void Masker::set(Level& level, const Matcher& at) {
  level.place = places_.of(at);
  if (level.place == Places::kNone) level.own = at.clone();
}

const Matcher& Masker::matcher(const Level& level) const {
  return level.place >= 0 ? places_.at(level.place) : *level.own;
}

bool Masker::step(const Level& from, Level& to, uint8_t byte) {
  if (from.place >= 0) {
    to.place = places_.step(from.place, byte);
    if (to.place != Places::kNone) return to.place >= 0;
  }
  std::unique_ptr<Matcher> next = matcher(from).clone();
  if (!next->advance(byte)) return false;
  to.place = places_.of(*next);
  if (to.place == Places::kNone) to.own = std::move(next);
  return true;
}

// Nodes [begin, end), whose parents' place is `at`.
void Masker::walk(uint32_t begin, uint32_t end, const Matcher& at, TokenMask& out,
                  std::vector<uint32_t>* exits) {
  if (begin == end) return;
  const auto nodes = trie_->nodes();
  const size_t offset = nodes[begin].depth - 1u;
  if (levels_.size() <= kMaxPieceBytes) levels_.resize(kMaxPieceBytes + 1);
  set(levels_[0], at);
  for (uint32_t i = begin; i < end;) {
    const TokenTrie::Node& node = nodes[i];
    Level& here = levels_[node.depth - offset];
    if (!step(levels_[node.depth - offset - 1], here, node.byte)) {
      i = node.next;
      continue;
    }
    const auto left = here.place >= 0 ? places_.left(here.place) : here.own->left();
    if (left != Matcher::Left::no && exits) exits->push_back(i);
    if (left != Matcher::Left::surely) put(node, out);
    i = left == Matcher::Left::surely ? node.next : i + 1;
  }
}

PartMaskPtr Masker::part(const Matcher& at, size_t i) {
  const Matcher::PartKey key = at.part_key(i);
  const bool free_text = key.owner == any_text().get();
  if (free_text) {
    const std::lock_guard lock(trie_->mutex_);
    if (const auto found = trie_->free_text_.find(key); found != trie_->free_text_.end())
      return found->second;
  } else if (const auto found = parts_.find(key); found != parts_.end()) {
    return found->second;
  }
  auto made = std::make_shared<PartMask>(PartMask{TokenMask(trie_->n_tokens()), {}});
  walk(0, static_cast<uint32_t>(trie_->nodes().size()), *at.inside(i), made->inside, &made->exits);
  if (free_text) {
    const std::lock_guard lock(trie_->mutex_);
    trie_->free_text_[key] = made;
  } else {
    parts_[key] = made;
  }
  return made;
}

TokenMaskPtr Masker::make(const Matcher& at) {
  auto out = std::make_shared<TokenMask>(trie_->n_tokens());
  const auto nodes = trie_->nodes();
  const size_t n = at.n_parts();
  if (n == 0) walk(0, static_cast<uint32_t>(nodes.size()), at, *out, nullptr);
  for (size_t i = 0; i < n; ++i) {
    const PartMaskPtr inside = part(at, i);
    out->add(inside->inside);
    const auto outside = inside->exits.empty() ? nullptr : at.outside(i);
    if (!outside) continue;
    for (const uint32_t exit : inside->exits) {
      put(nodes[exit], *out);
      walk(exit + 1, nodes[exit].next, *outside, *out, nullptr);
    }
  }
  return out;
}

// Places are numbered anew when there are too many.
void Masker::make_room() {
  if (!places_.full() && n_masks_ < kMostMasks) return;
  places_.clear();
  masks_.clear();
  n_masks_ = 0;
}

TokenMaskPtr Masker::mask(const Matcher& at) {
  const std::lock_guard lock(mutex_);
  make_room();
  if (parts_.size() > kMostParts) parts_.clear();
  const int32_t place = places_.of(at);
  if (place < 0) return make(at);
  const auto index = static_cast<size_t>(place);
  if (index < masks_.size() && masks_[index]) return masks_[index];
  TokenMaskPtr made = make(at);
  if (masks_.size() <= index) masks_.resize(index + 1);
  masks_[index] = made;
  ++n_masks_;
  return made;
}

std::string Masker::forced(const Matcher& at, size_t most) {
  const std::lock_guard lock(mutex_);
  make_room();
  std::string out;
  for (int32_t place = places_.of(at); place >= 0 && out.size() < most && !places_.at(place).accepting();) {
    int found = -1;
    for (int b = 0; b < 256; ++b) {
      if (places_.step(place, static_cast<uint8_t>(b)) == Places::kDead) continue;
      if (found >= 0) return out;
      found = b;
    }
    if (found < 0) return out;
    out += static_cast<char>(found);
    place = places_.step(place, static_cast<uint8_t>(found));
  }
  return out;
}

}  // namespace ingle::constrain
