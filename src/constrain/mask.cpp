#include "constrain/mask.h"

#include <algorithm>

#include "constrain/dfa.h"
#include "constrain/text_inside.h"

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
                        static_cast<uint32_t>(tokens_.size()), 0, d > 0 ? open[d - 1] : 0});
    }
    ++nodes_[open.back()].n_tokens;
    tokens_.push_back(id);
    last = p;
  }
  close(0);
}

std::string TokenTrie::path(uint32_t node) const {
  std::string out(nodes_[node].depth, '\0');
  for (size_t i = out.size(); i-- > 0; node = nodes_[node].parent)
    out[i] = static_cast<char>(nodes_[node].byte);
  return out;
}

bool TokenMask::none() const {
  return std::all_of(bits_.begin(), bits_.end(), [](uint64_t b) { return b == 0; });
}

void TokenMask::add(const TokenMask& other) {
  for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
}

void TokenMask::add_both(const TokenMask& a, const TokenMask& b) {
  for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= a.bits_[i] & b.bits_[i];
}

void Masker::put(const TokenTrie::Node& node, TokenMask& out) const {
  for (uint32_t i = 0; i < node.n_tokens; ++i) out.add(trie_->tokens()[node.first_token + i]);
}

void Masker::clear(uint32_t begin, uint32_t end, TokenMask& out) const {
  const auto nodes = trie_->nodes();
  const size_t last = end < nodes.size() ? nodes[end].first_token : trie_->tokens().size();
  for (size_t i = nodes[begin].first_token; i < last; ++i) out.remove(trie_->tokens()[i]);
}

void Masker::set(Level& level, const Matcher& at) {
  level.place = places_.of(at);
  if (level.place == Places::kNone) level.own = at.clone();
  level.length = level.quotes = 0;
}

void Masker::set(Level& level, const Level& at) {
  level.place = at.place;
  if (level.place == Places::kNone) level.own = at.own->clone();
  level.length = level.quotes = 0;
}

const Matcher& Masker::matcher(const Level& level) const {
  return level.place >= 0 ? places_.at(level.place) : *level.own;
}

Matcher::Left Masker::left(const Level& level) const {
  return level.place >= 0 ? places_.left(level.place) : level.own->left();
}

bool Masker::step(const Level& from, Level& to, uint8_t byte) {
  if (from.place >= 0) {
    to.place = places_.step(from.place, byte);
    if (to.place == Places::kDead) return false;
  } else {
    to.place = Places::kNone;
  }
  if (to.place == Places::kNone) {
    if (!matcher(from).may_begin(byte)) return false;
    std::unique_ptr<Matcher> next = matcher(from).clone();
    if (!next->advance(byte)) return false;
    to.place = from.place >= 0 ? Places::kNone : places_.of(next);
    if (to.place == Places::kNone) to.own = std::move(next);
  }
  to.length = from.length + (to.place >= 0 ? places_.grown(to.place) : to.own->grown());
  to.quotes = from.quotes + (byte == '"');
  return true;
}

void Masker::walk(uint32_t begin, uint32_t end, TokenMask& out, const Matcher* exact) {
  if (begin == end) return;
  const auto nodes = trie_->nodes();
  const size_t offset = nodes[begin].depth - 1u;
  for (uint32_t i = begin; i < end;) {
    const TokenTrie::Node& node = nodes[i];
    const size_t depth = node.depth - offset;
    Level& here = levels_[depth];
    bool good = step(levels_[depth - 1], here, node.byte);
    if (good && exact && node.byte == '"' && here.quotes > 1) {
      good = exact->clone()->advance(trie_->path(i));
    }
    if (good) put(node, out);
    i = good ? i + 1 : node.next;
  }
}

// All that may come inside, by the whole tree.
void Masker::walk_part(const Matcher& inside, PartMask& out, std::vector<uint8_t>* length) {
  const auto nodes = trie_->nodes();
  set(levels_[0], inside);
  for (uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    Level& here = levels_[node.depth];
    if (!step(levels_[node.depth - 1u], here, node.byte)) {
      i = node.next;
      continue;
    }
    const auto how = left(here);
    if (how != Matcher::Left::no)
      out.exits.push_back({i, matcher(here).way_out(), static_cast<int32_t>(here.length)});
    if (how != Matcher::Left::surely) {
      put(node, out.inside);
      if (length)
        for (uint32_t t = 0; t < node.n_tokens; ++t)
          (*length)[static_cast<size_t>(trie_->tokens()[node.first_token + t])] =
              static_cast<uint8_t>(here.length);
    }
    i = how == Matcher::Left::surely ? node.next : i + 1;
  }
}

TextMask& Masker::text(bool escapes) {
  const std::lock_guard lock(trie_->mutex_);
  std::shared_ptr<TextMask>& known = trie_->text_[escapes];
  if (known) return *known;
  auto made = std::make_shared<TextMask>();
  made->length.resize(static_cast<size_t>(trie_->n_tokens()));
  made->bounded.resize(kMaxPieceBytes);
  auto all = std::make_shared<PartMask>(PartMask{TokenMask(trie_->n_tokens()), {}});
  walk_part(*text_inside(*any_text(), {}, escapes), *all, &made->length);
  made->all = std::move(all);
  known = std::move(made);
  return *known;
}

const TokenMask& Masker::bounded(TextMask& text, int64_t most) {
  const std::lock_guard lock(trie_->mutex_);
  auto& known = text.bounded[static_cast<size_t>(most)];
  if (known) return *known;
  auto made = std::make_shared<TokenMask>(text.all->inside);
  for (const int32_t id : trie_->tokens())
    if (text.length[static_cast<size_t>(id)] > most) made->remove(id);
  known = std::move(made);
  return *known;
}

// The state of any_text() that this one is like: what can follow, and where it may end, are the same.
int32_t Masker::free_as(const Dfa& dfa, int32_t state) {
  const Dfa& any = *any_text();
  std::vector<int8_t>& as = free_[&dfa].as;
  if (as.empty()) as.assign(static_cast<size_t>(dfa.size()), -2);
  if (as[static_cast<size_t>(state)] != -2) return as[static_cast<size_t>(state)];
  const int32_t label = dfa.label[static_cast<size_t>(state)];
  // Most that are not are told apart by one letter.
  bool good = label >= 0 && dfa.step(state, 'a') >= 0;
  std::map<int32_t, int32_t> like{{state, 0}};
  std::vector<int32_t> open{state};
  while (good && !open.empty()) {
    const int32_t s = open.back(), a = like[s];
    open.pop_back();
    good = (a == 0 ? label : -1) == dfa.label[static_cast<size_t>(s)];
    for (int b = 0; b < 256 && good; ++b) {
      const int32_t to = dfa.step(s, static_cast<uint8_t>(b)), other = any.step(a, static_cast<uint8_t>(b));
      if (to < 0 || other < 0) {
        good = (to < 0) == (other < 0);
        continue;
      }
      const auto [found, fresh] = like.emplace(to, other);
      good = found->second == other && like.size() <= 64;
      if (fresh) open.push_back(to);
    }
  }
  if (good)
    for (const auto& [s, a] : like) as[static_cast<size_t>(s)] = static_cast<int8_t>(a);
  else
    as[static_cast<size_t>(state)] = -1;
  return as[static_cast<size_t>(state)];
}

// Most of what a pattern or a key may be is any text once its beginning is past: where that is so, the tree
// is not walked again.
PartMaskPtr Masker::part_of_text(const Matcher& inside, const TextMask& text) {
  auto made = std::make_shared<PartMask>(*text.all);
  const std::vector<PartMask::Exit>& ends = text.all->exits;
  made->exits.clear();
  const auto nodes = trie_->nodes();
  const Dfa& any = *any_text();
  std::vector<int32_t> states(kMaxPieceBytes + 1);  // of any_text(), by depth; -1: within an escape
  set(levels_[0], inside);
  for (uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    Level& here = levels_[node.depth];
    if (!step(levels_[node.depth - 1u], here, node.byte)) {
      clear(i, node.next, made->inside);
      i = node.next;
      continue;
    }
    const int32_t before = states[node.depth - 1u];
    states[node.depth] =
        before < 0 || node.byte == '\\' || node.byte == '"' ? -1 : any.step(before, node.byte);
    if (left(here) == Matcher::Left::surely) {
      made->exits.push_back({i, matcher(here).way_out(), static_cast<int32_t>(here.length)});
      clear(i, node.next, made->inside);
      i = node.next;
      continue;
    }
    const Matcher::Text at = matcher(here).text();
    if (states[node.depth] >= 0 && at.dfa && free_as(*at.dfa, at.state) == states[node.depth]) {
      const auto first = std::upper_bound(ends.begin(), ends.end(), i,
                                          [](uint32_t n, const PartMask::Exit& e) { return n < e.node; });
      // Characters that are still open here end in a state with the label too.
      int32_t end_state = at.state;
      for (uint8_t b = 0xBF; at.dfa->label[static_cast<size_t>(end_state)] < 0;)
        end_state = at.dfa->step(end_state, at.dfa->step(end_state, b) >= 0 ? b : uint8_t{0x80});
      for (auto e = first; e != ends.end() && e->node < node.next; ++e)
        made->exits.push_back({e->node, at.dfa->label[static_cast<size_t>(end_state)], e->length});
      i = node.next;
      continue;
    }
    put(node, made->inside);
    ++i;
  }
  return made;
}

PartMaskPtr Masker::part(const Matcher& at, size_t i) {
  const Matcher::PartKey key = at.part_key(i);
  const auto found = parts_.find(key);
  if (found != parts_.end()) return found->second;
  const auto inside = at.inside(i);
  const Matcher::Text place = inside->text();
  PartMaskPtr made;
  if (place.dfa == any_text().get() && place.state == 0) {
    made = text(place.escapes).all;
  } else {
    // Is it free text soon?
    int n_free = 0;
    if (place.dfa)
      for (const uint8_t b : {'e', 'x', 'Q', '~'})
        if (const int32_t to = place.dfa->step(place.state, b); to >= 0)
          n_free += free_as(*place.dfa, to) >= 0;
    if (n_free > 1) {
      made = part_of_text(*inside, text(place.escapes));
    } else {
      auto all = std::make_shared<PartMask>(PartMask{TokenMask(trie_->n_tokens()), {}});
      walk_part(*inside, *all, nullptr);
      made = std::move(all);
    }
  }
  parts_[key] = made;
  return made;
}

void Masker::add_exits(const Matcher& at, size_t i, const PartMask& part, TokenMask& out) {
  const auto nodes = trie_->nodes();
  const Matcher::Room room = at.room(i);
  const std::vector<std::string> refused = at.refused(i);
  struct Outside {
    int32_t kind;
    bool dead, vague;
    Level level;
  };
  std::vector<Outside> known;
  for (const PartMask::Exit& exit : part.exits) {
    if (exit.length < room.least || (room.most >= 0 && exit.length > room.most)) continue;
    auto outside =
        std::find_if(known.begin(), known.end(), [&](const Outside& o) { return o.kind == exit.kind; });
    if (outside == known.end()) {
      const auto after = at.outside(i, exit.kind);
      known.push_back({exit.kind, !after, at.vague(i, exit.kind), {}});
      outside = known.end() - 1;
      if (after) set(outside->level, *after);
    }
    if (outside->dead) continue;
    if (outside->vague && !refused.empty() &&
        std::find(refused.begin(), refused.end(), trie_->path(exit.node)) != refused.end())
      continue;
    put(nodes[exit.node], out);
    if (exit.node + 1 == nodes[exit.node].next) continue;
    set(levels_[0], outside->level);
    walk(exit.node + 1, nodes[exit.node].next, out, outside->vague ? &at : nullptr);
  }
}

TokenMaskPtr Masker::make(const Matcher& at) {
  auto out = std::make_shared<TokenMask>(trie_->n_tokens());
  const auto n_nodes = static_cast<uint32_t>(trie_->nodes().size());
  if (levels_.empty()) levels_.resize(kMaxPieceBytes + 1);
  const size_t n = at.n_parts();
  if (n == 0) {
    set(levels_[0], at);
    walk(0, n_nodes, *out);
  }
  for (size_t i = 0; i < n; ++i) {
    if (!at.part_key(i).owner) {
      set(levels_[0], *at.inside(i));
      walk(0, n_nodes, *out);
      continue;
    }
    const PartMaskPtr inside = part(at, i);
    const int64_t most = at.room(i).most;
    if (most >= 0 && most < static_cast<int64_t>(kMaxPieceBytes))
      out->add_both(inside->inside, bounded(text(true), most));
    else
      out->add(inside->inside);
    add_exits(at, i, *inside, *out);
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
