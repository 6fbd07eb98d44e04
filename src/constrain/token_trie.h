// A vocabulary's tokens as masks and as a tree.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace ingle::constrain {

// One bit a token.
class TokenMask {
 public:
  explicit TokenMask(int64_t n) : bits_(static_cast<size_t>((n + 63) / 64)) {}
  bool operator[](int64_t id) const { return bits_[static_cast<size_t>(id) / 64] >> (id % 64) & 1; }
  void add(int64_t id) { bits_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64); }
  void remove(int64_t id) { bits_[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << (id % 64)); }
  void add(const TokenMask& other);
  void add_both(const TokenMask& a, const TokenMask& b);  // what is in both of them
  void clear();
  void keep(const TokenMask& other);  // only what is in it
  void invert();
  bool none() const;
  std::span<const uint64_t> words() const { return bits_; }

 private:
  std::vector<uint64_t> bits_;
};
using TokenMaskPtr = std::shared_ptr<const TokenMask>;

struct FreeText;

// The tokens' bytes as a tree in preorder, so that a prefix that fails is passed over in one step.
class TokenTrie {
 public:
  static constexpr size_t kMaxPieceBytes = 255;  // longer tokens are never offered
  // Tokens without bytes are never offered.
  explicit TokenTrie(std::span<const std::string> pieces);
  ~TokenTrie();
  int64_t n_tokens() const { return static_cast<int64_t>(node_of_.size()); }

  struct Node {
    uint8_t byte;
    uint8_t depth;                   // 1 for a first byte
    uint16_t wide;                   // has a table of its children, this less one; 0: none
    uint32_t next;                   // after all that begin so
    uint32_t first_token, n_tokens;  // in tokens()
    uint32_t parent;                 // itself: none
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const int32_t> tokens() const { return tokens_; }
  std::span<const int32_t> tokens(uint32_t begin, uint32_t end) const;  // of nodes [begin, end)
  uint32_t node_of(int32_t token) const { return node_of_[static_cast<size_t>(token)]; }  // kNone: no bytes
  // Of a node with many children, or of none (kNone), where the tree begins: by byte. Null: there is no
  // table.
  const std::array<uint32_t, 256>* children(uint32_t node) const;
  std::string path(uint32_t node) const;       // the bytes that lead there
  uint32_t find(std::string_view path) const;  // the node; kNone: no token begins so

  // Found out when first asked for. Without and with escapes.
  const FreeText& free_text(bool escapes) const;
  // Those of the tokens that may come in JSON where no string is open, as long as an object or array is:
  // what stands in them up to the first quote or closing bracket is made of what JSON has there.
  const TokenTrie& between_strings() const;

 private:
  void make_tables();
  std::vector<Node> nodes_;
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> node_of_;  // by token
  std::vector<std::array<uint32_t, 256>> tables_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const FreeText> free_text_[2];
  mutable std::unique_ptr<const TokenTrie> between_strings_;
};

}  // namespace ingle::constrain
