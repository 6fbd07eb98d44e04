#include "text/trie.h"

#include <algorithm>

namespace ingle::text {

Trie::Trie(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.text < b.text; });
  // Level by level: a node is the range of sorted entries that share its path.
  struct Pending {
    uint32_t node;
    size_t begin, end, depth;
  };
  nodes_.emplace_back();
  labels_.push_back('\0');
  std::vector<Pending> queue = {{kRoot, 0, entries.size(), 0}};
  for (size_t head = 0; head < queue.size(); ++head) {
    Pending p = queue[head];
    // The path itself sorts before its extensions.
    for (; p.begin < p.end && entries[p.begin].text.size() == p.depth; ++p.begin) {
      nodes_[p.node].id = entries[p.begin].id;
    }
    nodes_[p.node].first = static_cast<uint32_t>(nodes_.size());
    while (p.begin < p.end) {
      const char label = entries[p.begin].text[p.depth];
      size_t end = p.begin + 1;
      while (end < p.end && entries[end].text[p.depth] == label) ++end;
      queue.push_back({static_cast<uint32_t>(nodes_.size()), p.begin, end, p.depth + 1});
      nodes_.emplace_back();
      labels_.push_back(label);
      ++nodes_[p.node].children;
      p.begin = end;
    }
  }
  std::fill(std::begin(root_), std::end(root_), kNone);
  for (uint32_t i = 0; i < nodes_[kRoot].children; ++i) {
    root_[static_cast<unsigned char>(labels_[nodes_[kRoot].first + i])] = nodes_[kRoot].first + i;
  }
}

bool take_longest(std::string_view word, const Trie& first, const Trie& rest, std::vector<TokenId>& out,
                  uint64_t& steps) {
  for (size_t at = 0; at < word.size();) {
    const Trie& trie = at == 0 ? first : rest;
    TokenId longest = -1;
    size_t longest_end = at;
    uint32_t node = Trie::kRoot;
    for (size_t to = at; to < word.size();) {
      node = trie.step(node, word[to++]);
      ++steps;
      if (node == Trie::kNone) break;
      if (trie.id(node) >= 0) longest = trie.id(node), longest_end = to;
    }
    if (longest < 0) return false;
    out.push_back(longest);
    at = longest_end;
  }
  return true;
}

}  // namespace ingle::text
