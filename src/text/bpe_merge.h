// Byte-pair merging of one piece, best rank first, over token ids.
#pragma once
#include <vector>

#include "text/hash.h"
#include "text/pretokenize.h"
#include "text/tokenizer.h"

namespace ingle::text {

class Merges {
 public:
  // A piece under merging. Ids are -1 where a character is no token; `starts` is carried along.
  struct Buffers {
    std::vector<TokenId> ids;
    std::vector<uint32_t> starts, ranks, previous, next;
    std::vector<uint64_t> heap;
  };

  void reserve(size_t n) { pairs_.reserve(n); }
  // Of equal pairs the first counts.
  void add(TokenId left, TokenId right, uint32_t rank, TokenId merged) {
    pairs_.insert(pair_key(left, right), {rank, static_cast<uint32_t>(merged)});
  }
  // Of equal pairs the last counts.
  void set(TokenId left, TokenId right, uint32_t rank, TokenId merged) {
    pairs_.set(pair_key(left, right), {rank, static_cast<uint32_t>(merged)});
  }
  // Merges what can be merged. `ids` and `starts` are of equal size, at most UINT32_MAX / 2.
  void apply(Buffers& b, Work& work) const;

 private:
  static constexpr uint32_t kNoRank = ~0u;
  uint32_t rank_of(TokenId left, TokenId right) const;
  TokenId merged_of(TokenId left, TokenId right) const;
  void merge_short(Buffers& b, Work& work) const;
  void merge_long(Buffers& b, Work& work) const;

  PairTable pairs_;
};

}  // namespace ingle::text
