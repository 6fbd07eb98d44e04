// Finding added tokens in a text: at each place the longest, places from left to right.
#pragma once
#include <string_view>
#include <vector>

#include "text/hash.h"
#include "text/tokenizer.h"

namespace ingle::text {

// An Aho-Corasick automaton of the tokens' reversed texts, run from the end of the text to its start: its
// state at a place knows the longest token that starts there. Linear in the text, whatever the tokens are.
class AddedTokens {
 public:
  struct Token {
    std::string_view text;
    TokenId id;
  };
  explicit AddedTokens(const std::vector<Token>& tokens);
  struct Match {
    size_t begin, end;
    TokenId id;
  };
  // Fills `matches` in the order of the text; they do not overlap.
  void find(std::string_view text, std::vector<Match>& matches) const;

 private:
  struct Node {
    uint32_t fail = 0;
    uint32_t bytes = 0;  // of the longest token that ends the node's path; 0: none
    TokenId id = -1;
  };
  uint32_t step(uint32_t node, unsigned char byte) const;

  std::vector<Node> nodes_;
  PairTable edges_;
  uint32_t root_[256] = {};
};

}  // namespace ingle::text
