#include "constrain/token_trie.h"

#include <algorithm>

#include "constrain/text_masks.h"

namespace ingle::constrain {

TokenTrie::TokenTrie(std::span<const std::string> pieces) : node_of_(pieces.size(), kNone) {
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
      nodes_.push_back({static_cast<uint8_t>(p[d]), static_cast<uint8_t>(d + 1), 0, 0,
                        static_cast<uint32_t>(tokens_.size()), 0, d > 0 ? open[d - 1] : open.back()});
    }
    ++nodes_[open.back()].n_tokens;
    node_of_[static_cast<size_t>(id)] = open.back();
    tokens_.push_back(id);
    last = p;
  }
  close(0);
  make_tables();
}

void TokenTrie::make_tables() {
  constexpr int kMany = 16;
  const auto n = static_cast<uint32_t>(nodes_.size());
  std::array<uint32_t, 256> table;
  const auto fill = [&](uint32_t begin, uint32_t end) {
    table.fill(kNone);
    int count = 0;
    for (uint32_t c = begin; c < end; c = nodes_[c].next, ++count) table[nodes_[c].byte] = c;
    return count;
  };
  fill(0, n);
  tables_.push_back(table);
  for (uint32_t i = 0; i < n && tables_.size() < UINT16_MAX; ++i) {
    if (nodes_[i].next - i <= kMany || fill(i + 1, nodes_[i].next) < kMany) continue;
    tables_.push_back(table);
    nodes_[i].wide = static_cast<uint16_t>(tables_.size());
  }
}

const std::array<uint32_t, 256>* TokenTrie::children(uint32_t node) const {
  if (node == kNone) return tables_.data();
  const uint16_t wide = nodes_[node].wide;
  return wide ? &tables_[wide - 1u] : nullptr;
}

TokenTrie::~TokenTrie() = default;

std::span<const int32_t> TokenTrie::tokens(uint32_t begin, uint32_t end) const {
  if (begin >= end) return {};
  const size_t first = nodes_[begin].first_token;
  const size_t last = end < nodes_.size() ? nodes_[end].first_token : tokens_.size();
  return tokens().subspan(first, last - first);
}

std::string TokenTrie::path(uint32_t node) const {
  std::string out(nodes_[node].depth, '\0');
  for (size_t i = out.size(); i-- > 0; node = nodes_[node].parent)
    out[i] = static_cast<char>(nodes_[node].byte);
  return out;
}

uint32_t TokenTrie::find(std::string_view path) const {
  uint32_t at = kNone, i = 0, end = static_cast<uint32_t>(nodes_.size());
  for (const char c : path) {
    while (i < end && nodes_[i].byte != static_cast<uint8_t>(c)) i = nodes_[i].next;
    if (i >= end) return kNone;
    at = i;
    end = nodes_[i].next;
    ++i;
  }
  return at;
}

namespace {

// Can this stand in JSON outside of strings, from anywhere to anywhere? Asked up to a quote or a closing
// bracket.
bool stands_between_strings(std::string_view piece) {
  piece = piece.substr(0, piece.find_first_of("\"}]"));
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  for (size_t i = 0; i < piece.size();) {
    if (!letter(piece[i])) {
      if (std::string_view(" \t\r\n,:{[-+.eE0123456789").find(piece[i]) == std::string_view::npos)
        return false;
      ++i;
      continue;
    }
    size_t end = i;
    while (end < piece.size() && letter(piece[end])) ++end;
    const std::string_view word = piece.substr(i, end - i);
    const auto part_of = [&](std::string_view whole) { return whole.find(word) != std::string_view::npos; };
    if (!part_of("true") && !part_of("false") && !part_of("null")) return false;
    i = end;
  }
  return true;
}

}  // namespace

const TokenTrie& TokenTrie::between_strings() const {
  const std::lock_guard lock(mutex_);
  if (between_strings_) return *between_strings_;
  std::vector<std::string> pieces(node_of_.size());
  for (const int32_t id : tokens_) {
    std::string piece = path(node_of(id));
    if (stands_between_strings(piece)) pieces[static_cast<size_t>(id)] = std::move(piece);
  }
  between_strings_ = std::make_unique<const TokenTrie>(pieces);
  return *between_strings_;
}

const FreeText& TokenTrie::free_text(bool escapes) const {
  const std::lock_guard lock(mutex_);
  auto& known = free_text_[escapes];
  if (!known) known = std::make_unique<const FreeText>(*this, escapes);
  return *known;
}

bool TokenMask::none() const {
  return std::all_of(bits_.begin(), bits_.end(), [](uint64_t b) { return b == 0; });
}

void TokenMask::clear() { std::fill(bits_.begin(), bits_.end(), 0); }

void TokenMask::keep(const TokenMask& other) {
  for (size_t i = 0; i < bits_.size(); ++i) bits_[i] &= other.bits_[i];
}

void TokenMask::invert() {
  for (uint64_t& bits : bits_) bits = ~bits;
}

void TokenMask::add(const TokenMask& other) {
  for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
}

void TokenMask::add_both(const TokenMask& a, const TokenMask& b) {
  for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= a.bits_[i] & b.bits_[i];
}

}  // namespace ingle::constrain
