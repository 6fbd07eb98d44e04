#include "constrain/mask.h"

#include <algorithm>

#include "constrain/dfa.h"

namespace ingle::constrain {
namespace {

constexpr size_t kKept = 64;
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

Matcher& Masker::level(size_t depth, const Matcher& like) {
  while (levels_.size() <= depth) levels_.push_back(like.clone());
  return *levels_[depth];
}

void Masker::put(const TokenTrie::Node& node, TokenMask& out) const {
  for (uint32_t i = 0; i < node.n_tokens; ++i) out.add(trie_->tokens()[node.first_token + i]);
}

// Nodes [begin, end), whose parents' place is levels_[base].
void Masker::walk(uint32_t begin, uint32_t end, size_t base, TokenMask& out) {
  const auto nodes = trie_->nodes();
  const size_t offset = nodes[begin].depth - 1u - base;
  for (uint32_t i = begin; i < end;) {
    const TokenTrie::Node& node = nodes[i];
    const size_t depth = node.depth - offset;
    Matcher& here = level(depth, *levels_[0]);
    here.assign(*levels_[depth - 1]);
    if (!here.advance(node.byte)) {
      i = node.next;
      continue;
    }
    put(node, out);
    ++i;
  }
}

// Inside a string nearly every token goes on with the string: an automaton's step tells so. Where the string
// ends or an escape begins, the matcher itself is asked.
void Masker::walk_string(const Matcher& at, const Dfa& dfa, int32_t state, TokenMask& out) {
  const auto nodes = trie_->nodes();
  std::vector<int32_t> states{state};
  std::string path;
  for (uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    states.resize(node.depth);
    path.resize(node.depth - 1u);
    if (node.byte == '"' || node.byte == '\\') {
      Matcher& base = level(0, at);
      base.assign(at);
      if (base.advance(path)) walk(i, node.next, 0, out);
      i = node.next;
      continue;
    }
    const int32_t next = node.byte < 0x20 ? -1 : dfa.step(states.back(), node.byte);
    if (next < 0) {
      i = node.next;
      continue;
    }
    put(node, out);
    states.push_back(next);
    path += static_cast<char>(node.byte);
    ++i;
  }
}

TokenMaskPtr Masker::make(const Matcher& at) {
  auto out = std::make_shared<TokenMask>(trie_->n_tokens());
  if (trie_->nodes().empty()) return out;
  Matcher::InString place;
  if (at.in_string(place)) {
    walk_string(at, *place.dfa, place.state, *out);
  } else {
    level(0, at).assign(at);
    walk(0, static_cast<uint32_t>(trie_->nodes().size()), 0, *out);
  }
  return out;
}

TokenMaskPtr Masker::mask(const Matcher& at) {
  for (size_t i = known_.size(); i-- > 0;)
    if (at.same(*known_[i].at)) {
      std::rotate(known_.begin() + static_cast<ptrdiff_t>(i), known_.begin() + static_cast<ptrdiff_t>(i) + 1,
                  known_.end());
      return known_.back().mask;
    }
  TokenMaskPtr made = make(at);
  if (known_.size() == kKept) known_.erase(known_.begin());
  known_.push_back({at.clone(), made});
  return made;
}

}  // namespace ingle::constrain
