#include "constrain/text_masks.h"

#include <algorithm>
#include <bit>
#include <map>

namespace ingle::constrain {
namespace {

bool has(const std::vector<uint64_t>& bits, int32_t i) {
  return bits[static_cast<size_t>(i) / 64] >> (i % 64) & 1;
}

bool may_go_on(const Matcher::Text& key, int32_t state) {
  const std::vector<uint64_t>& reach = (*key.reach)[static_cast<size_t>(state)];
  for (size_t w = 0; w < reach.size(); ++w)
    if (reach[w] & key.allowed[w]) return true;
  return false;
}

// How long a text is that ends or stops here; a character that has begun counts.
int64_t length(const StringCursor& at) { return at.length + (at.stage != 0); }

// Walks a tree along a text.
class TextWalk {
 public:
  // `free`: what the mask has already. Most of what a pattern or a key may be is any text once its beginning
  // is past: where that is so, the tree is not walked.
  TextWalk(const TokenTrie& trie, const Matcher::Text& text, TextStates& states, PartMask& out,
           const FreeText* free = nullptr, std::vector<uint8_t>* lengths = nullptr)
      : trie_(trie), text_(text), states_(states), out_(out), free_(free), lengths_(lengths) {}

  void all() { children(TokenTrie::kNone, text_.at, text_.at.open_bytes == 0 ? 0 : -1); }

  // `any`: the state of any_text(), -1: not known.
  void visit(uint32_t node, StringCursor at, int32_t any) {
    const TokenTrie::Node& n = trie_.nodes()[node];
    const Step s = step(text_, at, n.byte);
    if (s == Step::closed) {
      out_.exits.push_back(
          {node, text_.dfa->label[static_cast<size_t>(at.state)], static_cast<int32_t>(at.length)});
      note(node, n.next, at.length);
    }
    if (s != Step::more) {
      if (free_) drop(node);
      return;
    }
    const bool whole = at.stage == 0 && at.open_bytes == 0;
    any = whole ? 0 : at.stage != 0 || any < 0 ? -1 : any_text()->step(any, n.byte);
    if (free_ && any >= 0 && states_.free_as(at.state) == any) return free_below(node, at.state);
    if (!free_) {
      for (const int32_t id : trie_.tokens().subspan(n.first_token, n.n_tokens)) out_.inside.add(id);
      note(node, node + 1, length(at));
    }
    children(node, at, any);
  }

  // (A tree is as deep as a token is long.)
  void children(uint32_t parent, const StringCursor& at, int32_t any) {
    const auto* table = trie_.children(parent);
    const bool whole = at.stage == 0 && at.open_bytes == 0;
    const TextStates::Bytes* few = !table || !whole ? nullptr
                                   : free_          ? &states_.special(at.state)
                                                    : states_.live(at.state);
    if (few) {
      for (const uint8_t byte : *few)
        if (const uint32_t child = (*table)[byte]; child != TokenTrie::kNone) visit(child, at, any);
      return;
    }
    const auto nodes = trie_.nodes();
    const bool root = parent == TokenTrie::kNone;
    const auto end = root ? static_cast<uint32_t>(nodes.size()) : nodes[parent].next;
    for (uint32_t i = root ? 0 : parent + 1; i < end; i = nodes[i].next) visit(i, at, any);
  }

  // From `node` on its tokens are told one by one.
  void drop(uint32_t node) {
    const uint32_t end = trie_.nodes()[node].next;
    for (const int32_t id : trie_.tokens(node, end)) out_.inside.remove(id);
    if (!out_.apart.empty() && out_.apart.back().end == node)
      out_.apart.back().end = end;
    else
      out_.apart.push_back({node, end});
  }

 private:
  void note(uint32_t begin, uint32_t end, int64_t n) {
    if (lengths_)
      for (const int32_t id : trie_.tokens(begin, end))
        (*lengths_)[static_cast<size_t>(id)] = static_cast<uint8_t>(n);
  }

  void free_below(uint32_t node, int32_t state) {
    const int32_t kind = states_.label_of_free(state);
    if (kind == out_.free_kind) return;
    const uint32_t end = trie_.nodes()[node].next;
    const std::vector<PartMask::Exit>& ends = free_->all->exits;
    auto e = std::upper_bound(ends.begin(), ends.end(), node,
                              [](uint32_t n, const PartMask::Exit& exit) { return n < exit.node; });
    for (; e != ends.end() && e->node < end; ++e) out_.exits.push_back({e->node, kind, e->length});
    out_.apart.push_back({node, end});
  }

  const TokenTrie& trie_;
  const Matcher::Text& text_;
  TextStates& states_;
  PartMask& out_;
  const FreeText* free_;
  std::vector<uint8_t>* lengths_;
};

Matcher::Text any(bool escapes) {
  Matcher::Text out;
  out.dfa = any_text().get();
  out.escapes = escapes;
  return out;
}

// A text that comes to a state in which many characters stay: tokens of these alone are found by what they
// have, and the others where the first other character stands in them.
class Loops {
 public:
  Loops(const TokenTrie& trie, const Matcher::Text& text, const FreeText& free, TextStates& states,
        const TextStates::Loop& loop)
      : trie_(trie), text_(text), free_(free), states_(states), loop_(loop) {}

  // Null: there are too many of these places.
  PartMaskPtr run() {
    constexpr size_t kMost = 30'000;
    const Dfa& dfa = *text_.dfa;
    StringCursor in = text_.at;  // in the loop
    in.state = loop_.in;
    if (text_.reach && !may_go_on(text_, loop_.in)) return nullptr;
    size_t n = 0;
    std::vector<uint8_t> leaving;
    for (int b = 0x20; b < 256; ++b) {
      const bool escape = b == '\\' && text_.escapes;
      if (b == '"' || (b & 0xC0) == 0x80 || loop_.bytes[static_cast<size_t>(b)] ||
          (!escape && dfa.step(loop_.in, static_cast<uint8_t>(b)) < 0))
        continue;
      leaving.push_back(static_cast<uint8_t>(b));
      n += free_.nodes_of(static_cast<uint8_t>(b)).size();
    }
    if (n > kMost) return nullptr;
    auto within = std::make_shared<TokenMask>(trie_.n_tokens());
    for (int b = 0x20; b < 256; ++b)
      if (b != '"' && (b & 0xC0) != 0x80 && !loop_.bytes[static_cast<size_t>(b)])
        within->add(free_.having(static_cast<uint8_t>(b)));
    within->invert();
    auto made = std::make_shared<PartMask>(PartMask{free_.all->inside, {}, -1, {}, within});
    made->inside.keep(*within);
    const int32_t label = dfa.label[static_cast<size_t>(loop_.in)];
    if (label >= 0 && (!text_.reach || has(text_.allowed, label))) made->free_kind = label;
    TextWalk walk(trie_, text_, states_, *made);
    const auto nodes = trie_.nodes();
    for (uint32_t i = 0; i < nodes.size(); i = nodes[i].next)
      if (!loop_.first[nodes[i].byte]) {
        walk.drop(i);
        walk.visit(i, text_.at, -1);
      }
    for (const uint8_t byte : leaving)
      for (const uint32_t node : free_.nodes_of(byte)) {
        if (nodes[node].depth == 1 || !stays(nodes[node].parent)) continue;
        in.length = text_.at.length + code_points(nodes[node].parent);
        walk.visit(node, in, -1);
      }
    return made;
  }

 private:
  // Do all characters up to here stay in the loop, and are they whole?
  bool stays(uint32_t node) const {
    const auto nodes = trie_.nodes();
    uint32_t up = node;  // most fail here
    for (; nodes[up].byte < 0x80; up = nodes[up].parent) {
      const bool first = nodes[up].depth == 1;
      if (!(first ? loop_.first : loop_.bytes)[nodes[up].byte]) return false;
      if (first) return true;
    }
    const std::string path = trie_.path(node);
    int32_t any = 0;
    for (size_t i = 0; i < path.size(); ++i) {
      const auto byte = static_cast<uint8_t>(path[i]);
      if (any == 0 && !(i == 0 ? loop_.first : loop_.bytes)[byte]) return false;
      any = any_text()->step(any, byte);
      if (any < 0) return false;
    }
    return any == 0;
  }
  int64_t code_points(uint32_t node) const {
    const auto nodes = trie_.nodes();
    for (int64_t n = 0;; node = nodes[node].parent) {
      n += (nodes[node].byte & 0xC0) != 0x80;
      if (nodes[node].depth == 1) return n;
    }
  }

  const TokenTrie& trie_;
  const Matcher::Text& text_;
  const FreeText& free_;
  TextStates& states_;
  const TextStates::Loop& loop_;
};

// A text that goes on whatever comes, but is told apart where it ends.
PartMaskPtr total(const TokenTrie& trie, const Matcher::Text& text, const FreeText& free,
                  TextStates& states) {
  auto made = std::make_shared<PartMask>(PartMask{free.all->inside, {}, -1, {}, nullptr});
  std::vector<int32_t> labels;
  std::map<int32_t, int> counts;
  for (const std::string& written : free.to_ends) {
    StringCursor at = text.at;
    for (const char c : written) step(text, at, static_cast<uint8_t>(c));
    const Step s = step(text, at, '"');
    labels.push_back(s == Step::closed ? text.dfa->label[static_cast<size_t>(at.state)] : -1);
    if (s == Step::closed) ++counts[labels.back()];
  }
  int most = 0;
  for (const auto& [label, n] : counts)
    if (n > most) {
      most = n;
      made->free_kind = label;
    }
  TextWalk walk(trie, text, states, *made);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == made->free_kind) continue;
    const PartMask::Exit& exit = free.all->exits[i];
    walk.drop(exit.node);
    if (labels[i] >= 0) made->exits.push_back({exit.node, labels[i], exit.length});
  }
  return made;
}

// May the key go on wherever it is?
bool always_goes_on(const Matcher::Text& key) {
  for (size_t s = 0; s < key.reach->size(); ++s)
    if (!may_go_on(key, static_cast<int32_t>(s))) return false;
  return true;
}

}  // namespace

Step step(const Matcher::Text& text, StringCursor& at, uint8_t byte) {
  if (at.stage == 0 && byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\' && at.open_bytes == 0) {
    at.state = text.dfa->step(at.state, byte);
    ++at.length;
    if (at.state < 0 || !text.dfa->ends_within(at.state, at.length, text.most)) return Step::dead;
  } else {
    if (byte == '\\' && !text.escapes && at.stage == 0) return Step::dead;
    const Step s = at.take(byte, *text.dfa, text.most, nullptr);
    if (s == Step::dead) return s;
    if (s == Step::closed) {
      if (!text.reach) return at.length >= text.least ? s : Step::dead;
      return has(text.allowed, text.dfa->label[static_cast<size_t>(at.state)]) ? s : Step::dead;
    }
  }
  return !text.reach || may_go_on(text, at.state) ? Step::more : Step::dead;
}

FreeText::FreeText(const TokenTrie& trie, bool escapes)
    : length(static_cast<size_t>(trie.n_tokens())),
      trie_(&trie),
      bounded_(TokenTrie::kMaxPieceBytes),
      escapes_(escapes) {
  auto made = std::make_shared<PartMask>(PartMask{TokenMask(trie.n_tokens()), {}, -1, {}, nullptr});
  const Matcher::Text text = any(escapes);
  TextStates states(*text.dfa);
  TextWalk(trie, text, states, *made, nullptr, &length).all();
  std::vector<std::string> from_quote(length.size());
  for (const PartMask::Exit& exit : made->exits) {
    const TokenTrie::Node& node = trie.nodes()[exit.node];
    to_ends.push_back(trie.path(exit.node));
    to_ends.back().pop_back();
    for (const int32_t id : trie.tokens(exit.node, node.next))
      from_quote[static_cast<size_t>(id)] = trie.path(trie.node_of(id)).substr(node.depth - 1u);
  }
  ends = std::make_unique<const TokenTrie>(from_quote);
  all = std::move(made);
}

const TokenMask& FreeText::having(uint8_t byte) const {
  const std::lock_guard lock(mutex_);
  if (!having_.empty()) return having_[byte];
  having_.assign(256, TokenMask(0));
  for (int b = 0x20; b < 256; ++b)
    if ((b & 0xC0) != 0x80) having_[static_cast<size_t>(b)] = TokenMask(trie_->n_tokens());
  for (const int32_t id : trie_->tokens()) {
    std::string text = trie_->path(trie_->node_of(id));
    if (const uint32_t end = ends->node_of(id); end != TokenTrie::kNone)
      text.resize(text.size() - ends->nodes()[end].depth);
    for (const char c : text)
      if (auto& having = having_[static_cast<uint8_t>(c)]; !having.words().empty()) having.add(id);
  }
  return having_[byte];
}

std::span<const uint32_t> FreeText::nodes_of(uint8_t byte) const {
  const std::lock_guard lock(mutex_);
  if (nodes_of_.empty()) {
    nodes_of_.resize(256);
    const auto nodes = trie_->nodes();
    for (uint32_t i = 0; i < nodes.size(); ++i) nodes_of_[nodes[i].byte].push_back(i);
  }
  return nodes_of_[byte];
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

void keep_ending(const TokenTrie& trie, const Matcher::Text& text, TokenMask& inside) {
  const int64_t most = text.most - text.at.length;
  const std::vector<int32_t>& need = text.dfa->need;
  const int64_t least = need.empty() ? 0 : *std::max_element(need.begin(), need.end());
  constexpr auto kLongest = static_cast<int64_t>(TokenTrie::kMaxPieceBytes);
  if (most >= kLongest + least) return;
  const FreeText& free = trie.free_text(true);
  if (most < kLongest) inside.keep(free.bounded(most));
  if (least == 0) return;
  // Those that leave room for whatever state they lead to are right anyway.
  TokenMask near = inside;
  if (most - least >= 0) {
    TokenMask far = free.bounded(std::min(most - least, kLongest - 1));
    far.invert();
    near.keep(far);
  }
  for (size_t w = 0; w < near.words().size(); ++w)
    for (uint64_t bits = near.words()[w]; bits; bits &= bits - 1) {
      const int64_t id = static_cast<int64_t>(w) * 64 + std::countr_zero(bits);
      StringCursor at = text.at;
      for (const char c : trie.path(trie.node_of(static_cast<int32_t>(id))))
        if (step(text, at, static_cast<uint8_t>(c)) != Step::more) {
          inside.remove(id);
          break;
        }
    }
}

PartMaskPtr mask_of_text(const TokenTrie& trie, Matcher::Text text, TextStates& states) {
  text.least = 0;
  text.most = -1;
  text.at.length = 0;
  const FreeText& all = trie.free_text(text.escapes);
  const int32_t state = text.at.state;
  if (states.free_as(state) == 0)
    return std::make_shared<PartMask>(
        PartMask{all.all->inside, {}, states.label_of_free(state), {}, nullptr});
  int n_free = 0;  // is it free text soon?
  for (const uint8_t b : {'e', 'x', 'Q', '~'})
    if (const int32_t to = text.dfa->step(state, b); to >= 0) n_free += states.free_as(to) >= 0;
  if (n_free > 1) {
    auto made = std::make_shared<PartMask>(PartMask{all.all->inside, {}, states.free_label(), {}, nullptr});
    TextWalk(trie, text, states, *made, &all).all();
    return made;
  }
  if (text.at.open_bytes == 0 && states.total(state) && (!text.reach || always_goes_on(text)))
    return total(trie, text, all, states);
  if (const TextStates::Loop* loop = text.at.open_bytes == 0 ? states.loop(state) : nullptr)
    if (PartMaskPtr made = Loops(trie, text, all, states, *loop).run()) return made;
  auto made = std::make_shared<PartMask>(PartMask{TokenMask(trie.n_tokens()), {}, -1, {}, nullptr});
  TextWalk(trie, text, states, *made).all();
  return made;
}

}  // namespace ingle::constrain
