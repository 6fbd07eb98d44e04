// Which tokens may come next: those whose bytes the grammar can take.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "constrain/matcher.h"
#include "constrain/places.h"

namespace ingle::constrain {

// One bit a token.
class TokenMask {
 public:
  explicit TokenMask(int64_t n) : bits_(static_cast<size_t>((n + 63) / 64)) {}
  bool operator[](int64_t id) const { return bits_[static_cast<size_t>(id) / 64] >> (id % 64) & 1; }
  void add(int64_t id) { bits_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64); }
  void add(const TokenMask& other);
  bool none() const;
  std::span<const uint64_t> words() const { return bits_; }

 private:
  std::vector<uint64_t> bits_;
};
using TokenMaskPtr = std::shared_ptr<const TokenMask>;

// What may come inside a part (Matcher::inside), whatever it stands in, and the nodes of the tree at which it
// may have ended.
struct PartMask {
  TokenMask inside;
  std::vector<uint32_t> exits;
};
using PartMaskPtr = std::shared_ptr<const PartMask>;

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
  friend class Masker;
  std::vector<Node> nodes_;
  std::vector<int32_t> tokens_;
  int64_t n_tokens_;
  // Of free text in JSON strings, which every schema has.
  mutable std::mutex mutex_;
  mutable std::map<Matcher::PartKey, PartMaskPtr> free_text_;
};

// Makes masks, and keeps what it finds out. Thread-safe; of matchers of one grammar, made for writing.
class Masker {
 public:
  explicit Masker(std::shared_ptr<const TokenTrie> trie) : trie_(std::move(trie)) {}
  TokenMaskPtr mask(const Matcher& at);
  // What must come next, as long as there is just one byte that can and the text is not whole; `most` bytes
  // at most.
  std::string forced(const Matcher& at, size_t most);
  const std::shared_ptr<const TokenTrie>& trie() const { return trie_; }

 private:
  // A place on the way down the tree: by number, or where it is not kept, as a matcher.
  struct Level {
    int32_t place = Places::kNone;
    std::unique_ptr<Matcher> own;
  };
  void make_room();
  TokenMaskPtr make(const Matcher& at);
  PartMaskPtr part(const Matcher& at, size_t i);
  void set(Level& level, const Matcher& at);
  bool step(const Level& from, Level& to, uint8_t byte);
  const Matcher& matcher(const Level& level) const;
  void walk(uint32_t begin, uint32_t end, const Matcher& at, TokenMask& out, std::vector<uint32_t>* exits);
  void put(const TokenTrie::Node& node, TokenMask& out) const;

  const std::shared_ptr<const TokenTrie> trie_;
  std::mutex mutex_;
  Places places_;
  std::vector<TokenMaskPtr> masks_;  // by place; null: not made
  size_t n_masks_ = 0;
  std::map<Matcher::PartKey, PartMaskPtr> parts_;
  std::vector<Level> levels_;  // by depth in the tree
};

}  // namespace ingle::constrain
