// Which tokens may come next: those whose bytes the grammar can take.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constrain/dfa.h"
#include "constrain/matcher.h"

namespace ingle::constrain {

// The tokens' bytes as a tree in preorder, so that a prefix that fails is passed over in one step.
class TokenTrie {
 public:
  // Tokens without bytes are never offered.
  explicit TokenTrie(std::span<const std::string> pieces);
  int64_t n_tokens() const { return n_tokens_; }

  struct Node {
    uint8_t byte;
    uint8_t depth;                   // 1 for a first byte
    uint32_t next;                   // after all that begin so
    uint32_t first_token, n_tokens;  // in tokens()
  };
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const int32_t> tokens() const { return tokens_; }

 private:
  std::vector<Node> nodes_;
  std::vector<int32_t> tokens_;
  int64_t n_tokens_;
};

// One bit a token.
class TokenMask {
 public:
  explicit TokenMask(int64_t n) : bits_(static_cast<size_t>((n + 63) / 64)) {}
  bool operator[](int64_t id) const { return bits_[static_cast<size_t>(id) / 64] >> (id % 64) & 1; }
  void add(int64_t id) { bits_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64); }
  bool none() const;

 private:
  std::vector<uint64_t> bits_;
};
using TokenMaskPtr = std::shared_ptr<const TokenMask>;

// Makes masks, and keeps those of the places met last. Of one text; not thread-safe.
class Masker {
 public:
  explicit Masker(std::shared_ptr<const TokenTrie> trie) : trie_(std::move(trie)) {}
  Masker(const Masker& other) : trie_(other.trie_) {}  // what is kept stays with the other
  Masker(Masker&&) = default;
  Masker& operator=(Masker&&) = default;
  TokenMaskPtr mask(const Matcher& at);

 private:
  TokenMaskPtr make(const Matcher& at);
  void walk(uint32_t begin, uint32_t end, size_t base, TokenMask& out);
  void walk_string(const Matcher& at, const Dfa& dfa, int32_t state, TokenMask& out);
  void put(const TokenTrie::Node& node, TokenMask& out) const;
  Matcher& level(size_t depth, const Matcher& like);

  struct Known {
    std::unique_ptr<Matcher> at;
    TokenMaskPtr mask;
  };
  std::shared_ptr<const TokenTrie> trie_;
  std::vector<Known> known_;                      // the latest last
  std::vector<std::unique_ptr<Matcher>> levels_;  // by depth in the tree
};

}  // namespace ingle::constrain
