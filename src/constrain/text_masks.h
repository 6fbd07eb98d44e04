// What may come in the texts of JSON (strings and keys) up to the quote that ends them, whatever they stand
// in.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "constrain/matcher.h"
#include "constrain/text_states.h"
#include "constrain/token_trie.h"

namespace ingle::constrain {

// What may come inside a part of a matcher, and where it may have ended.
struct PartMask {
  struct Exit {
    uint32_t node;   // of the tree
    int32_t kind;    // a label of the text's automaton
    int32_t length;  // code points
  };
  struct Range {
    uint32_t begin, end;  // nodes
  };
  TokenMask inside;
  std::vector<Exit> exits;  // by node
  // Where the text is free its ends are those of FreeText, with this kind, but for those below `apart`, which
  // are told one by one. -1: all are.
  int32_t free_kind = -1;
  std::vector<Range> apart;
  std::shared_ptr<const TokenMask> within;  // they are in this; null: they may be any
};
using PartMaskPtr = std::shared_ptr<const PartMask>;

// Of any text in a JSON string, over one vocabulary: the texts of all others are among these.
struct FreeText {
  FreeText(const TokenTrie& trie, bool escapes);
  PartMaskPtr all;              // with all exits told
  std::vector<uint8_t> length;  // by token: code points, up to the end of the text
  // The tokens in which the text ends, from the quote on.
  std::unique_ptr<const TokenTrie> ends;
  std::vector<std::string> to_ends;  // of each exit of all, the text up to the quote
  // Tokens that stay inside, of at most so many code points.
  const TokenMask& bounded(int64_t most) const;
  // The tokens in whose text a character begins with this byte.
  const TokenMask& having(uint8_t byte) const;
  std::span<const uint32_t> nodes_of(uint8_t byte) const;  // of the tree, in their order

 private:
  const TokenTrie* trie_;
  mutable std::mutex mutex_;
  // Made when asked for: by length, by character, by byte.
  mutable std::vector<std::unique_ptr<const TokenMask>> bounded_;
  mutable std::vector<TokenMask> having_;
  mutable std::vector<std::vector<uint32_t>> nodes_of_;
  bool escapes_;
};

// A step within a text; `closed`: by a quote, where it may end.
Step step(const Matcher::Text& text, StringCursor& at, uint8_t byte);

// Of what stays inside: drops what leaves no room to end within text.most, which is a bound.
void keep_ending(const TokenTrie& trie, const Matcher::Text& text, TokenMask& inside);

// `text` without its bounds: these are left to who adds up the mask.
PartMaskPtr mask_of_text(const TokenTrie& trie, Matcher::Text text, TextStates& states);

}  // namespace ingle::constrain
