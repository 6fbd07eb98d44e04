// Private to the room: the trie behind a PrefixIndex, and the order in which it gives up what it holds.
// Nothing here locks.
#pragma once
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "kv/prefix_index.h"
#include "kv/state_impl.h"

namespace ingle::kv {

// Recurrent states after the first `offset` tokens of a block.
struct BlockSnapshot {
  int64_t offset;            // 1 to the block's tokens
  std::vector<Page*> pages;  // [part], null for parts of other kinds
};

struct Block {
  Block* parent = nullptr;  // null: the root of a space, which has no tokens
  int64_t start = 0;        // position of its first token
  std::vector<int32_t> tokens;
  std::vector<MediaMark> media;  // those in it
  std::vector<Block*> children;
  std::vector<Page*> pages;              // [part], null for recurrent parts and for windows that went on
  std::vector<BlockSnapshot> snapshots;  // ascending offsets
  uint64_t hash = 0;
  uint64_t id = 0;         // of the block, in its children's hashes
  uint64_t used = 0;       // when it was used last: order among equals
  Digest digest{};         // full blocks, where somebody listens or there is a tier
  double base_value = 0;   // the clock and the worth at the last use of the block, …
  double extra_value = 0;  // … and of what it holds of windows and recurrent states
  int64_t keep_until_us = 0;
  bool is_queued = false, extras_queued = false;

  bool is_root() const { return parent == nullptr; }
  bool is_full() const { return static_cast<int64_t>(tokens.size()) == kPageTokens; }
  int64_t end() const { return start + static_cast<int64_t>(tokens.size()); }
};

// The tokens of a prompt that one block would hold, and the marks in them.
struct BlockKey {
  std::span<const int32_t> tokens;
  std::span<const MediaMark> media;
};
BlockKey block_key(std::span<const int32_t> tokens, const PrefixKey& key, int64_t start);
// Its name in a tier and in events: of all that leads to it. `parent` is null for the first of a space.
Digest block_digest(const Digest* parent, const BlockKey& key, std::string_view space);
// How many tokens the two have in common before the first difference, of tokens or marks.
int64_t common_tokens(const Block& block, const BlockKey& key);

class PrefixTrie {
 public:
  PrefixTrie(std::shared_ptr<StatePool::Impl> pool, const PrefixOptions& options);
  ~PrefixTrie() { clear(); }
  PrefixTrie(const PrefixTrie&) = delete;
  PrefixTrie& operator=(const PrefixTrie&) = delete;

  const Block* find_root(const std::string& space) const;
  Block& make_root(const std::string& space);
  // The full block that follows, or null.
  Block* find_full(const Block& parent, const BlockKey& key) const;
  // The child that has most tokens in common from its start, and how many; the blocks may be partial. Of
  // equal ones one whose windows are there.
  std::pair<Block*, int64_t> find_partial(const Block& parent, const BlockKey& key) const;
  // A new one without pages, or, where nothing but its end differs, the one that is there made longer: its
  // pages are then stale and gone, its snapshots stay.
  Block& make_block(Block& parent, const BlockKey& key, std::string_view space);
  // Takes a reference where the block has none.
  bool has_all_pages(const Block& block) const;  // also those of windows
  void hold_page(Block& block, size_t part, Page* page);
  void hold_snapshot(Block& block, int64_t offset, std::vector<Page*> pages);
  // A use of the block; of what it holds beside full attention, too.
  void freshen(Block& block, bool extras);
  // Removes a block that holds nothing that can be found, and then its parents for the same reason.
  void trim(Block* block, Release& release);

  // The least worth: a leaf, or the extras of an inner block. False when nothing may go. `sole`: only what
  // gives bytes back to the pool.
  bool evict_one(bool sole, int64_t now_us, Release& release, uint64_t& freed);
  void clear();

  const std::map<std::string, std::unique_ptr<Block>>& roots() const { return roots_; }
  PrefixStats counts;

 private:
  using Queue = std::set<std::tuple<double, uint64_t, Block*>>;
  uint64_t hash_of(const Block& parent, const BlockKey& key) const;
  double worth(const Block& block) const;
  bool has_extras(const Block& block) const;
  // Bytes that nobody but the index holds.
  uint64_t sole_bytes(const Block& block, bool extras_alone) const;
  void settle(Block& block) noexcept;
  Block* find_tail(const Block& parent, const BlockKey& key) const;
  void set_key(Block& block, const BlockKey& key, std::string_view space);
  void spill(const Block& block);
  void drop_page(Page*& page, Release& release) noexcept;
  void drop_extras(Block& block, Release& release) noexcept;
  void unlink(Block& block, Release& release) noexcept;
  Block* least(Queue& queue, bool extras_alone, bool sole, int64_t now_us);

  std::shared_ptr<StatePool::Impl> pool_;
  PrefixOptions options_;
  HashKey hash_key_;
  std::map<std::string, std::unique_ptr<Block>> roots_;
  std::unordered_multimap<uint64_t, Block*> full_;
  Queue leaves_;  // by base_value
  Queue extras_;  // inner blocks with something to drop, by extra_value
  double clock_ = 0;
  uint64_t next_id_ = 1;
};

}  // namespace ingle::kv
