// What the sequences of one pool have computed, found again by their tokens: a trie of 32-token blocks. A
// keyed hash finds a block, its tokens decide. The index holds pages of the pool like a sequence does, and
// gives them back when the pool is short.
#pragma once
#include <optional>
#include <string>

#include "core/checksum.h"
#include "core/siphash.h"
#include "kv/block_tier.h"
#include "kv/state.h"

namespace ingle::kv {

// From `position` on the tokens stand for media with this digest (of its bytes and shape).
struct MediaMark {
  int64_t position;
  Digest digest;
  bool operator==(const MediaMark&) const = default;
};

// Prefixes are shared within one space alone. It is compared in full: model, adapter, salt, whatever must not
// mix.
struct PrefixKey {
  std::string space;
  std::vector<MediaMark> media;  // ascending
};

// Not evicted before that time, in microseconds of PrefixOptions::now_us. kPinned: until release().
struct Retention {
  static constexpr int64_t kPinned = INT64_MAX;
  int64_t keep_until_us = 0;
};

struct PrefixMatch {
  SequenceState state;  // of the first n_matched tokens
  int64_t n_matched;
};

struct PrefixStats {
  uint64_t lookups = 0, hits = 0;                // matches, and those of at least one token
  uint64_t tokens_possible = 0, tokens_hit = 0;  // asked for, and found
  uint64_t blocks_stored = 0, blocks_evicted = 0, states_dropped = 0;  // states_dropped: see evict()
  uint64_t blocks_spilled = 0, blocks_loaded = 0, loads_failed = 0;    // to and from the tier
  uint64_t blocks = 0, bytes = 0;  // held now; pages that sequences hold too are counted
};

// A block of 32 tokens that can be found, in the shape of vLLM's BlockStored: its name is a chain of SHA-256.
struct StoredBlock {
  Digest hash;
  std::optional<Digest> parent;  // none: the first of its space
  std::span<const int32_t> tokens;
  int64_t block_size = kPageTokens;
  std::string_view space;
};
// Hears of blocks that come and go. Called with the index locked: must not call it.
class PrefixEvents {
 public:
  virtual ~PrefixEvents() = default;
  virtual void stored(const StoredBlock& block) = 0;
  virtual void removed(const Digest& hash) = 0;
  virtual void cleared() = 0;  // all of them
};

struct PrefixOptions {
  uint64_t max_bytes = UINT64_MAX;  // of the pages that it holds; never more than the pool's budget
  // What computing a token again costs: 1, and so much for every token before it. Weighs who is evicted.
  double context_cost = 1.0 / 4096;
  std::function<int64_t()> now_us;  // for Retention; empty: the monotonic clock
  std::optional<HashKey> hash_key;  // of the block table; none: a random one
  std::shared_ptr<PrefixEvents> events;
  // Takes full blocks that are evicted, and gives them back to match(), where `cheaper_to_load` says that
  // reading `bytes` costs less than computing n_tokens from position `start` on. Without that function it
  // does.
  std::shared_ptr<BlockTier> tier;
  std::function<bool(int64_t start, int64_t n_tokens, uint64_t bytes)> cheaper_to_load;
};

// Thread-safe. At most one for a pool. May outlive the pool's handle.
class PrefixIndex {
 public:
  explicit PrefixIndex(const StatePool& pool, PrefixOptions options = {});
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  // Keeps what `state` holds of its tokens: full blocks, the partial one at its end, pages of windows as far
  // as they are there, and every snapshot of recurrent parts. Shares pages, copies nothing; what is there
  // already is freshened. `tokens` are at least the state's. It is a cache: without memory it keeps less,
  // silently. Throws Code::invalid_argument for a state of another pool.
  void store(std::span<const int32_t> tokens, const PrefixKey& key, const SequenceState& state,
             const Retention& retention = {});
  // The longest prefix of the first `most` tokens of which every part can be taken over; its full blocks are
  // shared, a partial one is copied. Never fails for want of pages: then less is matched.
  PrefixMatch match(std::span<const int32_t> tokens, const PrefixKey& key, int64_t most = INT64_MAX);
  // How much match() would give, without taking anything or counting as a use.
  int64_t peek(std::span<const int32_t> tokens, const PrefixKey& key, int64_t most = INT64_MAX) const;
  // Ends the retention of the blocks of these tokens.
  void release(std::span<const int32_t> tokens, const PrefixKey& key);

  // Gives back pages of at least `bytes` that nobody else holds, if there are: the least worth first (what it
  // costs to compute again, by when it was last used), of the trie the leaves, of windows and recurrent
  // states those that were not used. Returns the bytes that went back. The pool calls it when it is short.
  uint64_t evict(uint64_t bytes);
  void clear();
  PrefixStats stats() const;
  // Tells every block that can be found, parents first: for one who listens from now on.
  void list(PrefixEvents& to) const;

  struct Impl;  // the room's own

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle::kv
