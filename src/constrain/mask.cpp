#include "constrain/mask.h"

#include <algorithm>
#include <utility>

namespace ingle::constrain {
namespace {

constexpr size_t kMostMasks = 1024, kMostParts = 256;

bool is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

}  // namespace

// ---- Places on the way ----

void Masker::set(Level& level, const Matcher& at) {
  level.place = places_.of(at);
  level.blanks = std::max(0, at.blanks());
  if (level.place == Places::kNone) level.own = at.clone();
}

// Never fails; true: that is handy.
bool Masker::put_place(Level& level, std::unique_ptr<Matcher> at) {
  level.blanks = std::max(0, at->blanks());
  level.place = places_.of(at);
  if (level.place == Places::kNone) level.own = std::move(at);
  return true;
}

const Matcher& Masker::matcher(const Level& level) const {
  return level.place >= 0 ? places_.at(level.place) : *level.own;
}

bool Masker::doubtful(const Level& level) const {
  return level.place >= 0 ? places_.doubtful(level.place) : level.own->doubtful();
}

bool Masker::step(const Level& from, Level& to, uint8_t byte) {
  if (from.place >= 0) {
    if (is_space(byte) && places_.takes_blanks(from.place)) {
      to.place = from.place;
      to.blanks = from.blanks + 1;
      return to.blanks <= Matcher::kMostBlanks;
    }
    to.place = places_.step(from.place, byte);
    to.blanks = is_space(byte);
    if (to.place == Places::kDead) return false;
    if (to.place != Places::kNone) return true;
  }
  if (!matcher(from).may_begin(byte)) return false;
  std::unique_ptr<Matcher> next = matcher(from).clone();
  return next->advance(byte) && put_place(to, std::move(next));
}

// ---- Down the tree ----

void Masker::put(const Walk& w, uint32_t node) {
  const TokenTrie::Node& n = w.trie.nodes()[node];
  for (uint32_t i = 0; i < n.n_tokens; ++i) {
    const int32_t id = w.trie.tokens()[n.first_token + i];
    if (w.length) {
      const int64_t length = w.length[static_cast<size_t>(id)];
      if (length < w.least || (w.most >= 0 && length > w.most)) continue;
    }
    w.out.add(id);
  }
}

void Masker::verify(const Walk& w, uint32_t node) {
  for (const int32_t id : w.trie.tokens(node, w.trie.nodes()[node].next))
    if (w.start.clone()->advance(trie_->path(trie_->node_of(id)))) w.out.add(id);
}

void Masker::walk(const Walk& w, uint32_t begin, uint32_t end) {
  const auto nodes = w.trie.nodes();
  for (uint32_t i = begin; i < end;) {
    const TokenTrie::Node& node = nodes[i];
    Level& here = levels_[node.depth];
    if (!step(levels_[node.depth - 1u], here, node.byte)) {
      i = node.next;
      continue;
    }
    if (doubtful(here)) {
      verify(w, i);
      i = node.next;
      continue;
    }
    put(w, i);
    ++i;
    // Where a text or a number begins.
    const bool digit = (node.byte >= '0' && node.byte <= '9') || node.byte == '-';
    if ((node.byte != '"' && !digit) || i == node.next) continue;
    const auto texts = here.place >= 0 ? places_.texts(here.place) : Places::texts_of(*here.own);
    if (!texts) continue;
    const Matcher* own = here.place >= 0 ? nullptr : here.own.get();
    const int32_t place = here.place;
    for (size_t t = 0; t < texts->size(); ++t)
      if ((*texts)[t].text.dfa)
        walk_text(w, i, node.next, place, own, (*texts)[t], t);
      else
        walk_number(w, i, node.next, place, (*texts)[t].inside, t);
    i = node.next;
  }
}

void Masker::walk_text(const Walk& w, uint32_t begin, uint32_t end, int32_t place, const Matcher* own,
                       const Places::Text& of, size_t t) {
  const auto nodes = w.trie.nodes();
  const Matcher::Text& text = of.text;
  const size_t depth = nodes[begin].depth - 1u;
  levels_[depth].text = text.at;
  for (uint32_t i = begin; i < end;) {
    const TokenTrie::Node& node = nodes[i];
    Level& here = levels_[node.depth];
    here.text = levels_[node.depth - 1u].text;
    const Step s = constrain::step(text, here.text, node.byte);
    if (s == Step::more) {
      put(w, i++);
      continue;
    }
    i = node.next;
    if (s == Step::dead) continue;
    const auto node_number = static_cast<uint32_t>(&node - nodes.data());
    if (!of.refused.empty()) {
      const std::string written = w.trie.path(node_number).substr(depth);
      if (std::find(of.refused.begin(), of.refused.end(), written) != of.refused.end()) continue;
    }
    const int32_t label = text.dfa->label[static_cast<size_t>(here.text.state)];
    here.place = own ? Places::kNone : places_.outside(place, t, label);
    here.blanks = 0;
    if (here.place == Places::kDead) continue;
    if (here.place == Places::kNone) {
      here.own = (own ? *own : places_.at(place)).outside(t, label);
      if (!here.own) continue;
    }
    if (doubtful(here)) {
      verify(w, node_number);
      continue;
    }
    put(w, node_number);
    walk(w, node_number + 1, node.next);
  }
}

void Masker::walk_number(const Walk& w, uint32_t begin, uint32_t end, int32_t place, int32_t inside,
                         size_t t) {
  const auto nodes = w.trie.nodes();
  levels_[nodes[begin].depth - 1u].place = inside;
  for (uint32_t i = begin; i < end;) {
    const TokenTrie::Node& node = nodes[i];
    Level& from = levels_[node.depth - 1u];
    const int32_t to = places_.step(from.place, node.byte);
    if (to >= 0) {
      levels_[node.depth].place = to;
      put(w, i++);
      continue;
    }
    const bool may_end = places_.left(from.place) != Matcher::Left::no;
    const int32_t after = to == Places::kNone ? to : may_end ? places_.outside(place, t, 0) : Places::kDead;
    if (after == Places::kNone) verify(w, i);
    if (after >= 0) {
      const int32_t number = std::exchange(from.place, after);
      from.blanks = 0;
      walk(w, i, node.next);
      from.place = number;
    }
    i = node.next;
  }
}

// ---- Parts ----

// All that may come inside, by the whole tree.
void Masker::walk_part(const Matcher& inside, PartMask& out) {
  const auto nodes = trie_->nodes();
  set(levels_[0], inside);
  const Walk w{*trie_, inside, out.inside};
  for (uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    Level& here = levels_[node.depth];
    if (!step(levels_[node.depth - 1u], here, node.byte)) {
      i = node.next;
      continue;
    }
    const auto how = here.place >= 0 ? places_.left(here.place) : here.own->left();
    if (how != Matcher::Left::no) out.exits.push_back({i, 0, 0});
    if (how != Matcher::Left::surely) put(w, i);
    i = how == Matcher::Left::surely ? node.next : i + 1;
  }
}

PartMaskPtr Masker::part(const Matcher& at, size_t i, const Matcher::Text& text) {
  const Matcher::PartKey key = at.part_key(i);
  const auto found = parts_.find(key);
  if (found != parts_.end()) return found->second;
  PartMaskPtr made;
  if (text.dfa) {
    const auto states = states_.try_emplace(text.dfa, *text.dfa).first;
    made = mask_of_text(*trie_, text, states->second);
  } else {
    auto all = std::make_shared<PartMask>(PartMask{TokenMask(trie_->n_tokens()), {}, -1, {}, nullptr});
    walk_part(*at.inside(i), *all);
    made = std::move(all);
  }
  parts_[key] = made;
  return made;
}

// Free text ends in thousands of tokens, but in few ways: they are looked at from the quote on.
void Masker::add_free_ends(const Matcher& at, size_t i, const Matcher::Text& text, const PartMask& part,
                           TokenMask& out) {
  auto after = at.outside(i, part.free_kind);
  if (!after) return;
  const FreeText& free = trie_->free_text(text.escapes);
  if (free.ends->nodes().empty()) return;
  if (!ends_) ends_ = std::make_unique<TokenMask>(trie_->n_tokens());
  TokenMask& ends = *ends_;
  ends.clear();
  const Walk w{*free.ends,
               at,
               ends,
               free.length.data(),
               std::max<int64_t>(0, text.least - text.at.length),
               text.most < 0 ? -1 : text.most - text.at.length};
  put_place(levels_[1], std::move(after));
  if (doubtful(levels_[1])) {
    verify(w, 0);
  } else {
    put(w, 0);
    walk(w, 1, free.ends->nodes()[0].next);
  }
  if (part.within) ends.keep(*part.within);
  const auto drop = [&](uint32_t begin, uint32_t end) {
    for (const int32_t id : trie_->tokens(begin, end)) ends.remove(id);
  };
  for (const PartMask::Range& r : part.apart) drop(r.begin, r.end);
  for (const std::string& refused : at.refused(i))
    if (const uint32_t node = trie_->find(refused); node != TokenTrie::kNone)
      drop(node, trie_->nodes()[node].next);
  out.add(ends);
}

void Masker::add_exits(const Matcher& at, size_t i, const Matcher::Text& text, const PartMask& part,
                       TokenMask& out) {
  const auto nodes = trie_->nodes();
  const int64_t least = text.least - text.at.length, most = text.most < 0 ? -1 : text.most - text.at.length;
  const std::vector<std::string> refused = at.refused(i);
  struct After {
    std::unique_ptr<Matcher> at;  // null: dead
    Level level;
  };
  std::map<int32_t, After> known;
  const Walk w{*trie_, at, out};
  for (const PartMask::Exit& exit : part.exits) {
    if (exit.length < least || (most >= 0 && exit.length > most)) continue;
    auto after = known.find(exit.kind);
    if (after == known.end()) {
      after = known.emplace(exit.kind, After{at.outside(i, exit.kind), {}}).first;
      if (after->second.at) set(after->second.level, *after->second.at);
    }
    if (!after->second.at) continue;
    if (!refused.empty() &&
        std::find(refused.begin(), refused.end(), trie_->path(exit.node)) != refused.end())
      continue;
    if (after->second.at->doubtful()) {
      verify(w, exit.node);
      continue;
    }
    const Level& from = after->second.level;
    Level& here = levels_[nodes[exit.node].depth];
    here.place = from.place;
    here.blanks = from.blanks;
    if (from.place == Places::kNone) here.own = from.own->clone();
    put(w, exit.node);
    walk(w, exit.node + 1, nodes[exit.node].next);
  }
}

TokenMaskPtr Masker::make(const Matcher& at) {
  auto out = std::make_shared<TokenMask>(trie_->n_tokens());
  if (levels_.empty()) levels_.resize(TokenTrie::kMaxPieceBytes + 1);
  const auto walk_whole = [&](const Matcher& from) {
    const TokenTrie& trie = from.in_json() ? trie_->between_strings() : *trie_;
    set(levels_[0], from);
    walk({trie, at, *out}, 0, static_cast<uint32_t>(trie.nodes().size()));
  };
  const size_t n = at.n_parts();
  if (n == 0) walk_whole(at);
  for (size_t i = 0; i < n; ++i) {
    if (!at.part_key(i).owner) {
      walk_whole(*at.inside(i));
      continue;
    }
    const Matcher::Text text = at.text(i);
    const PartMaskPtr inside = part(at, i, text);
    const int64_t most = text.most < 0 ? -1 : text.most - text.at.length;
    if (most >= 0 && !text.dfa->need.empty()) {
      TokenMask near = inside->inside;
      keep_ending(*trie_, text, near);
      out->add(near);
    } else if (most >= 0 && most < static_cast<int64_t>(TokenTrie::kMaxPieceBytes)) {
      out->add_both(inside->inside, trie_->free_text(true).bounded(most));
    } else {
      out->add(inside->inside);
    }
    if (at.may_end(i))
      if (const auto after = at.outside(i, 0)) walk_whole(*after);
    if (inside->free_kind >= 0) add_free_ends(at, i, text, *inside, *out);
    add_exits(at, i, text, *inside, *out);
  }
  return out;
}

// ---- What is asked from outside ----

// Places are numbered anew when there are too many.
void Masker::make_room() {
  if (!places_.full() && masks_.size() < kMostMasks) return;
  places_.clear();
  masks_.clear();
}

TokenMaskPtr Masker::mask(const Matcher& at) {
  const std::lock_guard lock(mutex_);
  make_room();
  if (parts_.size() > kMostParts) parts_.clear();
  const int32_t place = places_.of(at);
  if (place < 0) return make(at);
  const int64_t key = int64_t{place} * (Matcher::kMostBlanks + 1) + std::max(0, at.blanks());
  if (const auto known = masks_.find(key); known != masks_.end()) return known->second;
  return masks_[key] = make(at);
}

std::string Masker::forced(const Matcher& at, size_t most) {
  const std::lock_guard lock(mutex_);
  make_room();
  std::string out;
  Level here, next, chosen;
  here.place = places_.of(at);
  here.blanks = std::max(0, at.blanks());
  while (here.place >= 0 && out.size() < most && !places_.at(here.place).accepting()) {
    int found = -1;
    for (int b = 0; b < 256; ++b) {
      if (!step(here, next, static_cast<uint8_t>(b))) continue;
      if (found >= 0) return out;
      found = b;
      chosen.place = next.place;
      chosen.blanks = next.blanks;
    }
    if (found < 0) return out;
    out += static_cast<char>(found);
    here.place = chosen.place;
    here.blanks = chosen.blanks;
  }
  return out;
}

}  // namespace ingle::constrain
