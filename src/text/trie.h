// Byte strings as a tree whose children lie side by side: compact, built once, read by any thread.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace ingle::text {

class Trie {
 public:
  struct Entry {
    std::string_view text;  // not empty
    TokenId id;
  };
  // Of equal texts the last counts.
  explicit Trie(std::vector<Entry> entries);

  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = ~0u;
  uint32_t step(uint32_t node, char byte) const {
    if (node == kRoot) return root_[static_cast<unsigned char>(byte)];
    const Node& n = nodes_[node];
    if (n.children == 1) return labels_[n.first] == byte ? n.first : kNone;
    const void* found = n.children ? std::memchr(labels_.data() + n.first, byte, n.children) : nullptr;
    return found ? static_cast<uint32_t>(static_cast<const char*>(found) - labels_.data()) : kNone;
  }
  TokenId id(uint32_t node) const { return nodes_[node].id; }  // -1 where no text ends

 private:
  struct Node {
    uint32_t first = 0, children = 0;
    TokenId id = -1;
  };
  std::vector<Node> nodes_;
  std::string labels_;  // labels_[i] leads to node i
  uint32_t root_[256];  // what each byte leads to from the root, where every search begins
};

// Takes the longest entry that the rest of the word begins with, again and again: of `first` at its start, of
// `rest` after that. False, with what was taken left in `out`, when the rest begins with none. `steps`
// counts.
bool take_longest(std::string_view word, const Trie& first, const Trie& rest, std::vector<TokenId>& out,
                  uint64_t& steps);

}  // namespace ingle::text
