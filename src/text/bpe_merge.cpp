#include "text/bpe_merge.h"

#include <algorithm>
#include <functional>

namespace ingle::text {
namespace {

constexpr size_t kShortPiece = 48;  // up to here a plain search for the best pair beats a heap

}  // namespace

void Merges::apply(Buffers& b, Work& work) const {
  if (b.ids.size() <= kShortPiece) {
    merge_short(b, work);
  } else {
    merge_long(b, work);
  }
}

uint32_t Merges::rank_of(TokenId left, TokenId right) const {
  if (left < 0 || right < 0) return kNoRank;
  const PairTable::Value* found = pairs_.find(pair_key(left, right));
  return found ? found->first : kNoRank;
}
TokenId Merges::merged_of(TokenId left, TokenId right) const {
  return static_cast<TokenId>(pairs_.find(pair_key(left, right))->second);
}

void Merges::merge_short(Buffers& b, Work& work) const {
  b.ranks.clear();
  for (size_t i = 0; i + 1 < b.ids.size(); ++i) b.ranks.push_back(rank_of(b.ids[i], b.ids[i + 1]));
  work.merges += b.ranks.size();
  while (!b.ranks.empty()) {
    const auto best = std::min_element(b.ranks.begin(), b.ranks.end());  // the leftmost of equals
    if (*best == kNoRank) break;
    const auto i = best - b.ranks.begin();
    const auto at = static_cast<size_t>(i);
    b.ids[at] = merged_of(b.ids[at], b.ids[at + 1]);
    b.ids.erase(b.ids.begin() + i + 1);
    b.starts.erase(b.starts.begin() + i + 1);
    b.ranks.erase(best);
    if (at > 0) b.ranks[at - 1] = rank_of(b.ids[at - 1], b.ids[at]);
    if (at < b.ranks.size()) b.ranks[at] = rank_of(b.ids[at], b.ids[at + 1]);
  }
}

// A linked list of symbols and a heap of (rank, place); an entry whose rank is no longer its place's is
// stale.
void Merges::merge_long(Buffers& b, Work& work) const {
  const size_t n = b.ids.size();
  constexpr uint32_t kEnd = ~0u;
  b.ranks.assign(n, kNoRank), b.previous.resize(n), b.next.resize(n), b.heap.clear();
  const auto later = std::greater<uint64_t>();
  for (size_t i = 0; i < n; ++i) {
    b.previous[i] = i == 0 ? kEnd : static_cast<uint32_t>(i - 1);
    b.next[i] = i + 1 == n ? kEnd : static_cast<uint32_t>(i + 1);
    if (i + 1 < n) b.ranks[i] = rank_of(b.ids[i], b.ids[i + 1]);
    if (b.ranks[i] != kNoRank) b.heap.push_back(static_cast<uint64_t>(b.ranks[i]) << 32 | i);
  }
  work.merges += b.heap.size();
  std::make_heap(b.heap.begin(), b.heap.end(), later);
  const auto rank_again = [&](uint32_t i) {
    b.ranks[i] = b.next[i] == kEnd ? kNoRank : rank_of(b.ids[i], b.ids[b.next[i]]);
    if (b.ranks[i] == kNoRank) return;
    b.heap.push_back(static_cast<uint64_t>(b.ranks[i]) << 32 | i);
    std::push_heap(b.heap.begin(), b.heap.end(), later);
    ++work.merges;
  };
  while (!b.heap.empty()) {
    std::pop_heap(b.heap.begin(), b.heap.end(), later);
    const uint64_t entry = b.heap.back();
    b.heap.pop_back();
    const auto i = static_cast<uint32_t>(entry);
    if (b.ranks[i] != static_cast<uint32_t>(entry >> 32)) continue;
    const uint32_t right = b.next[i];
    b.ids[i] = merged_of(b.ids[i], b.ids[right]);
    b.ranks[right] = kNoRank;
    b.next[i] = b.next[right];
    if (b.next[i] != kEnd) b.previous[b.next[i]] = i;
    rank_again(i);
    if (b.previous[i] != kEnd) rank_again(b.previous[i]);
  }
  size_t kept = 0;
  for (uint32_t i = 0; i != kEnd; i = b.next[i], ++kept) {
    b.ids[kept] = b.ids[i];
    b.starts[kept] = b.starts[i];
  }
  b.ids.resize(kept), b.starts.resize(kept);
}

}  // namespace ingle::text
