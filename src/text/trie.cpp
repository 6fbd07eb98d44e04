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
}

}  // namespace ingle::text
