// Which tokens may come next: those whose bytes the grammar can take.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "constrain/dfa.h"
#include "constrain/matcher.h"
#include "constrain/places.h"

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
  bool none() const;
  std::span<const uint64_t> words() const { return bits_; }

 private:
  std::vector<uint64_t> bits_;
};
using TokenMaskPtr = std::shared_ptr<const TokenMask>;

// What may come inside a part (Matcher::inside), whatever it stands in, and where it may have ended.
struct PartMask {
  struct Exit {
    uint32_t node;   // of the tree
    int32_t kind;    // Matcher::way_out()
    int32_t length;  // code points
  };
  TokenMask inside;
  std::vector<Exit> exits;  // by node
};
using PartMaskPtr = std::shared_ptr<const PartMask>;

// Of any text in a JSON string: the texts of all others are among these.
struct TextMask {
  PartMaskPtr all;
  std::vector<uint8_t> length;  // by token: code points, where the text takes it
  std::vector<std::shared_ptr<const TokenMask>>
      bounded;  // by length: tokens of at most so many; made when asked for
};

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
    uint32_t parent;                 // itself: none
  };
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const int32_t> tokens() const { return tokens_; }
  std::string path(uint32_t node) const;  // the bytes that lead there

 private:
  friend class Masker;
  std::vector<Node> nodes_;
  std::vector<int32_t> tokens_;
  int64_t n_tokens_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<TextMask> text_[2];  // without and with escapes; null: not made
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
    int64_t length = 0;  // code points
    int quotes = 0;
  };
  // Which states of an automaton go on as those of any_text() do, all their texts with one label.
  struct FreeStates {
    std::vector<int8_t> as;  // by state: any_text()'s; -1: none, -2: not looked at
  };
  void make_room();
  TokenMaskPtr make(const Matcher& at);
  void add_exits(const Matcher& at, size_t i, const PartMask& part, TokenMask& out);
  PartMaskPtr part(const Matcher& at, size_t i);
  PartMaskPtr part_of_text(const Matcher& inside, const TextMask& text);
  TextMask& text(bool escapes);
  const TokenMask& bounded(TextMask& text, int64_t most);
  int32_t free_as(const Dfa& dfa, int32_t state);
  void set(Level& level, const Matcher& at);
  void set(Level& level, const Level& at);
  bool step(const Level& from, Level& to, uint8_t byte);
  const Matcher& matcher(const Level& level) const;
  Matcher::Left left(const Level& level) const;
  // Nodes [begin, end), whose parents' place is levels_[0]. `exact`, when given, is asked where a quote comes
  // a second time, with all bytes since it.
  void walk(uint32_t begin, uint32_t end, TokenMask& out, const Matcher* exact = nullptr);
  void walk_part(const Matcher& inside, PartMask& out, std::vector<uint8_t>* length);
  void put(const TokenTrie::Node& node, TokenMask& out) const;
  void clear(uint32_t begin, uint32_t end, TokenMask& out) const;

  const std::shared_ptr<const TokenTrie> trie_;
  std::mutex mutex_;
  Places places_;
  std::vector<TokenMaskPtr> masks_;  // by place; null: not made
  size_t n_masks_ = 0;
  std::map<Matcher::PartKey, PartMaskPtr> parts_;
  std::map<const Dfa*, FreeStates> free_;
  std::vector<Level> levels_;  // by depth in the tree
};

}  // namespace ingle::constrain
