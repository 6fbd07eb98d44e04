#include "constrain/text_masks.h"

#include <algorithm>

namespace ingle::constrain {
namespace {

bool has(const std::vector<uint64_t>& bits, int32_t i) {
  return bits[static_cast<size_t>(i) / 64] >> (i % 64) & 1;
}

// How long a text is that ends or stops here; a character that has begun counts.
int64_t length(const StringCursor& at) { return at.length + (at.stage != 0); }

// Walks a tree along a text.
class Walk {
 public:
  Walk(const TokenTrie& trie, const Matcher::Text& text)
      : trie_(trie), text_(text), cursors_(TokenTrie::kMaxPieceBytes + 1) {
    cursors_[0] = text.at;
  }
  Step step_to(uint32_t node) {
    const TokenTrie::Node& n = trie_.nodes()[node];
    cursors_[n.depth] = cursors_[n.depth - 1u];
    return step(text_, cursors_[n.depth], n.byte);
  }
  const StringCursor& at(uint32_t node) const { return cursors_[trie_.nodes()[node].depth]; }
  PartMask::Exit end_at(uint32_t node) const {
    const StringCursor& c = at(node);
    return {node, text_.dfa->label[static_cast<size_t>(c.state)], static_cast<int32_t>(c.length)};
  }

 private:
  const TokenTrie& trie_;
  const Matcher::Text& text_;
  std::vector<StringCursor> cursors_;  // by depth
};

Matcher::Text any(bool escapes) {
  Matcher::Text out;
  out.dfa = any_text().get();
  out.escapes = escapes;
  return out;
}

// By the whole tree.
void walk_all(const TokenTrie& trie, const Matcher::Text& text, PartMask& out,
              std::vector<uint8_t>* lengths) {
  Walk walk(trie, text);
  const auto nodes = trie.nodes();
  const auto note = [&](uint32_t begin, uint32_t end, int64_t n) {
    if (lengths)
      for (const int32_t id : trie.tokens(begin, end))
        (*lengths)[static_cast<size_t>(id)] = static_cast<uint8_t>(n);
  };
  for (uint32_t i = 0; i < nodes.size();) {
    const Step s = walk.step_to(i);
    if (s == Step::closed) {
      out.exits.push_back(walk.end_at(i));
      note(i, nodes[i].next, walk.at(i).length);
    } else if (s == Step::more) {
      for (uint32_t t = 0; t < nodes[i].n_tokens; ++t)
        out.inside.add(trie.tokens()[nodes[i].first_token + t]);
      note(i, i + 1, length(walk.at(i)));
    }
    i = s == Step::more ? i + 1 : nodes[i].next;
  }
}

// Most of what a pattern or a key may be is any text once its beginning is past: where that is so, the tree
// is not walked.
class MostlyFree {
 public:
  MostlyFree(const TokenTrie& trie, const Matcher::Text& text, const FreeText& free, const FreeStates& states)
      : trie_(trie), text_(text), free_(free), states_(states), walk_(trie, text) {}

  PartMaskPtr run() {
    made_ = std::make_shared<PartMask>(PartMask{free_.all->inside, {}, -1, {}});
    const auto nodes = trie_.nodes();
    std::vector<int32_t> any_states(TokenTrie::kMaxPieceBytes + 1);  // of any_text(), by depth; -1: not known
    any_states[0] = text_.at.open_bytes == 0 ? 0 : -1;
    for (uint32_t i = 0; i < nodes.size();) {
      const TokenTrie::Node& node = nodes[i];
      const Step s = walk_.step_to(i);
      if (s == Step::closed) {
        made_->exits.push_back(walk_.end_at(i));
        apart(i);
      } else if (s == Step::dead) {
        for (const int32_t id : trie_.tokens(i, node.next)) made_->inside.remove(id);
        apart(i);
      } else {
        const StringCursor& at = walk_.at(i);
        const int32_t before = any_states[node.depth - 1u];
        const bool whole = at.stage == 0 && at.open_bytes == 0;
        const int32_t now = whole                         ? 0
                            : at.stage != 0 || before < 0 ? -1
                                                          : any_text()->step(before, node.byte);
        any_states[node.depth] = now;
        if (now < 0 || states_.as(at.state) != now) {
          ++i;  // (its tokens are in all of free text)
          continue;
        }
        free_below(i, at.state);
      }
      i = node.next;
    }
    return made_;
  }

 private:
  void apart(uint32_t node) {
    const uint32_t end = trie_.nodes()[node].next;
    if (!made_->apart.empty() && made_->apart.back().end == node)
      made_->apart.back().end = end;
    else
      made_->apart.push_back({node, end});
  }

  void free_below(uint32_t node, int32_t state) {
    // Characters that are still open here end in a state with the label too.
    for (uint8_t b = 0xBF; text_.dfa->label[static_cast<size_t>(state)] < 0;)
      state = text_.dfa->step(state, text_.dfa->step(state, b) >= 0 ? b : uint8_t{0x80});
    const int32_t kind = text_.dfa->label[static_cast<size_t>(state)];
    if (made_->free_kind < 0) made_->free_kind = kind;
    if (made_->free_kind == kind) return;
    const std::vector<PartMask::Exit>& ends = free_.all->exits;
    auto e = std::upper_bound(ends.begin(), ends.end(), node,
                              [](uint32_t n, const PartMask::Exit& exit) { return n < exit.node; });
    for (; e != ends.end() && e->node < trie_.nodes()[node].next; ++e)
      made_->exits.push_back({e->node, kind, e->length});
    apart(node);
  }

  const TokenTrie& trie_;
  const Matcher::Text& text_;
  const FreeText& free_;
  const FreeStates& states_;
  Walk walk_;
  std::shared_ptr<PartMask> made_;
};

}  // namespace

Step step(const Matcher::Text& text, StringCursor& at, uint8_t byte) {
  if (at.stage == 0 && byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\' && at.open_bytes == 0) {
    at.state = text.dfa->step(at.state, byte);
    ++at.length;
    if (at.state < 0 || (text.most >= 0 && at.length > text.most)) return Step::dead;
  } else {
    if (byte == '\\' && !text.escapes && at.stage == 0) return Step::dead;
    const Step s = at.take(byte, *text.dfa, text.most, nullptr);
    if (s == Step::dead) return s;
    if (s == Step::closed) {
      if (!text.reach) return at.length >= text.least ? s : Step::dead;
      return has(text.allowed, text.dfa->label[static_cast<size_t>(at.state)]) ? s : Step::dead;
    }
  }
  if (!text.reach) return Step::more;
  const std::vector<uint64_t>& reach = (*text.reach)[static_cast<size_t>(at.state)];
  for (size_t w = 0; w < reach.size(); ++w)
    if (reach[w] & text.allowed[w]) return Step::more;
  return Step::dead;
}

FreeText::FreeText(const TokenTrie& trie, bool escapes)
    : length(static_cast<size_t>(trie.n_tokens())), trie_(&trie), bounded_(TokenTrie::kMaxPieceBytes) {
  auto made = std::make_shared<PartMask>(PartMask{TokenMask(trie.n_tokens()), {}, -1, {}});
  walk_all(trie, any(escapes), *made, &length);
  std::vector<std::string> from_quote(length.size());
  for (const PartMask::Exit& exit : made->exits) {
    const TokenTrie::Node& node = trie.nodes()[exit.node];
    for (const int32_t id : trie.tokens(exit.node, node.next))
      from_quote[static_cast<size_t>(id)] = trie.path(trie.node_of(id)).substr(node.depth - 1u);
  }
  ends = std::make_unique<const TokenTrie>(from_quote);
  all = std::move(made);
}

const TokenMask& FreeText::bounded(int64_t most) const {
  const std::lock_guard lock(mutex_);
  auto& known = bounded_[static_cast<size_t>(most)];
  if (known) return *known;
  auto made = std::make_unique<TokenMask>(all->inside);
  for (const int32_t id : trie_->tokens())
    if (length[static_cast<size_t>(id)] > most) made->remove(id);
  known = std::move(made);
  return *known;
}

FreeStates::FreeStates(const Dfa& dfa) : as_(static_cast<size_t>(dfa.size()), -1) {
  for (int32_t s = 0; s < dfa.size(); ++s)
    if (as(s) < 0 && dfa.label[static_cast<size_t>(s)] >= 0 && dfa.step(s, 'a') == s &&
        dfa.step(s, '0') == s && dfa.step(s, ' ') == s && dfa.step(s, '/') == s)
      compare(dfa, s);
}

void FreeStates::compare(const Dfa& dfa, int32_t state) {
  const Dfa& any = *any_text();
  const int32_t label = dfa.label[static_cast<size_t>(state)];
  std::map<int32_t, int32_t> like{{state, 0}};
  std::vector<int32_t> open{state};
  while (!open.empty()) {
    const int32_t s = open.back(), a = like[s];
    open.pop_back();
    if ((a == 0 ? label : -1) != dfa.label[static_cast<size_t>(s)]) return;
    for (int b = 0; b < 256; ++b) {
      const int32_t to = dfa.step(s, static_cast<uint8_t>(b)), other = any.step(a, static_cast<uint8_t>(b));
      if ((to < 0) != (other < 0)) return;
      if (to < 0) continue;
      const auto [found, fresh] = like.emplace(to, other);
      if (found->second != other || like.size() > 64) return;
      if (fresh) open.push_back(to);
    }
  }
  for (const auto& [s, a] : like) as_[static_cast<size_t>(s)] = static_cast<int8_t>(a);
}

PartMaskPtr mask_of_text(const TokenTrie& trie, Matcher::Text text, const FreeStates& free) {
  text.least = 0;
  text.most = -1;
  text.at.length = 0;
  const FreeText& all = trie.free_text(text.escapes);
  const Dfa& dfa = *text.dfa;
  const int32_t state = text.at.state;
  if (free.as(state) == 0)
    return std::make_shared<PartMask>(
        PartMask{all.all->inside, {}, dfa.label[static_cast<size_t>(state)], {}});
  int n_free = 0;  // is it free text soon?
  for (const uint8_t b : {'e', 'x', 'Q', '~'})
    if (const int32_t to = dfa.step(state, b); to >= 0) n_free += free.as(to) >= 0;
  if (n_free > 1) return MostlyFree(trie, text, all, free).run();
  auto made = std::make_shared<PartMask>(PartMask{TokenMask(trie.n_tokens()), {}, -1, {}});
  walk_all(trie, text, *made, nullptr);
  return made;
}

}  // namespace ingle::constrain
