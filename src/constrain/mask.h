// Which tokens may come next: those whose bytes the grammar can take.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "constrain/matcher.h"
#include "constrain/places.h"
#include "constrain/text_masks.h"
#include "constrain/token_trie.h"

namespace ingle::constrain {

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
    int blanks = 0;  // where the place takes them
    std::unique_ptr<Matcher> own;
    StringCursor text;  // in a text, which began at a place
  };
  // A way down a tree, for the mask of a matcher.
  struct Walk {
    const TokenTrie& trie;
    const Matcher& start;
    TokenMask& out;
    // Where tokens are not whole in the tree: the code points that each has before what is in it.
    const uint8_t* length = nullptr;
    int64_t least = 0, most = -1;
  };
  void make_room();
  TokenMaskPtr make(const Matcher& at);
  void add_text(const Matcher& at, size_t i, const Matcher::Text& text, TokenMask& out);
  void add_free_ends(const Matcher& at, size_t i, const Matcher::Text& text, const PartMask& part,
                     TokenMask& out);
  void add_exits(const Matcher& at, size_t i, const Matcher::Text& text, const PartMask& part,
                 TokenMask& out);
  PartMaskPtr part(const Matcher& at, size_t i, const Matcher::Text& text);
  void walk_part(const Matcher& inside, PartMask& out);
  void set(Level& level, const Matcher& at);
  bool step(const Level& from, Level& to, uint8_t byte);
  bool put_place(Level& level, std::unique_ptr<Matcher> at);
  const Matcher& matcher(const Level& level) const;
  bool doubtful(const Level& level) const;
  // Nodes [begin, end), whose parents' place is in levels_.
  void walk(const Walk& w, uint32_t begin, uint32_t end);
  // In text `t` of those of a place, or where it is not kept, of a matcher.
  void walk_text(const Walk& w, uint32_t begin, uint32_t end, int32_t place, const Matcher* own,
                 const Places::Text& text, size_t t);
  // In part `t` of a place, which is a number's and stands at `inside`.
  void walk_number(const Walk& w, uint32_t begin, uint32_t end, int32_t place, int32_t inside, size_t t);
  void verify(const Walk& w, uint32_t node);  // all that begin so, one by one
  static void put(const Walk& w, uint32_t node);

  const std::shared_ptr<const TokenTrie> trie_;
  std::mutex mutex_;
  Places places_;
  std::unordered_map<int64_t, TokenMaskPtr> masks_;  // by place and blanks
  std::map<Matcher::PartKey, PartMaskPtr> parts_;
  std::map<const Dfa*, TextStates> states_;  // of the automata of texts
  std::vector<Level> levels_;                // by depth in the tree
  std::unique_ptr<TokenMask> ends_;          // of a part
};

}  // namespace ingle::constrain
