#include "kv/prefix_index.h"

#include <chrono>
#include <mutex>
#include <new>

#include "core/error.h"
#include "kv/prefix_trie.h"

namespace ingle::kv {
namespace {

int64_t monotonic_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The blocks that hold a prefix, from the first token on.
struct Path {
  std::vector<Block*> blocks;  // full ones but for the last, of which perhaps only a part is wanted
  int64_t n_tokens = 0;
};

}  // namespace

struct PrefixIndex::Impl {
  Impl(const StatePool& p, PrefixOptions o) : pool(p.impl()), options(std::move(o)), trie(pool, options) {
    if (!options.now_us) options.now_us = monotonic_us;
    for (const PartSpec& part : pool->parts) has_recurrent |= part.kind == PartKind::recurrent;
  }

  Path find(std::span<const int32_t> tokens, const PrefixKey& key, int64_t most) const;
  bool holds_window(const Path& path, size_t part, int64_t length, int64_t& missing) const;
  const BlockSnapshot* snapshot_at(const Path& path, int64_t length) const;
  int64_t longest(const Path& path, int64_t most) const;
  void freshen(const Path& path, int64_t length);
  std::unique_ptr<SequenceState::Impl> adopt(const Path& path, int64_t length) const;
  void copy_tail(SequenceState::Impl& state) const;
  void store(std::span<const int32_t> tokens, const PrefixKey& key, const SequenceState::Impl& state,
             const Retention& retention);
  Block& place(Block& parent, std::span<const int32_t> tokens, const PrefixKey& key);
  void hold(Block& block, const SequenceState::Impl& state);
  uint64_t evict(uint64_t bytes, bool sole);
  void load(std::span<const int32_t> tokens, const PrefixKey& key, int64_t most);

  const std::shared_ptr<StatePool::Impl> pool;
  PrefixOptions options;
  bool has_recurrent = false;
  mutable std::mutex mutex;  // taken before the pool's, never while pages are asked for
  PrefixTrie trie;
};

Path PrefixIndex::Impl::find(std::span<const int32_t> tokens, const PrefixKey& key, int64_t most) const {
  Path path;
  tokens =
      tokens.first(static_cast<size_t>(std::clamp<int64_t>(most, 0, static_cast<int64_t>(tokens.size()))));
  const Block* block = trie.find_root(key.space);
  while (block && path.n_tokens < static_cast<int64_t>(tokens.size())) {
    const BlockKey next = block_key(tokens, key, path.n_tokens);
    Block* child =
        static_cast<int64_t>(next.tokens.size()) == kPageTokens ? trie.find_full(*block, next) : nullptr;
    int64_t n = kPageTokens;
    if (!child) std::tie(child, n) = trie.find_partial(*block, next);
    if (!child) break;
    path.blocks.push_back(child);
    path.n_tokens += n;
    if (n < kPageTokens) break;
    block = child;
  }
  return path;
}

// Whether every page is there that a query at `length` sees; else `missing` is the end of the last that is
// not.
bool PrefixIndex::Impl::holds_window(const Path& path, size_t part, int64_t length, int64_t& missing) const {
  const size_t first = first_seen(pool->parts[part], length);
  for (size_t b = pages_for(length); b-- > first;)
    if (!path.blocks[b]->pages[part]) {
      missing = static_cast<int64_t>(b) * kPageTokens;
      return false;
    }
  return true;
}

const BlockSnapshot* PrefixIndex::Impl::snapshot_at(const Path& path, int64_t length) const {
  const Block& block = *path.blocks[pages_for(length) - 1];
  for (const BlockSnapshot& s : block.snapshots)
    if (block.start + s.offset == length) return &s;
  return nullptr;
}

// The most tokens, at most `most`, of which every part can be taken over.
int64_t PrefixIndex::Impl::longest(const Path& path, int64_t most) const {
  int64_t length = std::min(path.n_tokens, most);
  while (length > 0) {
    if (has_recurrent && !snapshot_at(path, length)) {
      --length;
      const auto& block = *path.blocks[static_cast<size_t>(length / kPageTokens)];
      if (block.snapshots.empty() || block.start + block.snapshots.front().offset > length)
        length = block.start;  // none in the rest of this block
      continue;
    }
    int64_t missing = length;
    bool whole = true;
    for (size_t i = 0; i < pool->parts.size() && whole; ++i)
      if (slides(pool->parts[i])) whole = holds_window(path, i, length, missing);
    if (whole) return length;
    length = missing;
  }
  return 0;
}

// What was taken over is fresh: of windows and recurrent states only that.
void PrefixIndex::Impl::freshen(const Path& path, int64_t length) {
  size_t seen = path.blocks.size();
  for (const PartSpec& part : pool->parts)
    if (slides(part)) seen = std::min(seen, first_seen(part, length));
  for (size_t b = 0; b < pages_for(length); ++b)
    trie.freshen(*path.blocks[b], b >= seen || b + 1 == pages_for(length));
}

// With the partial page at its end still shared.
std::unique_ptr<SequenceState::Impl> PrefixIndex::Impl::adopt(const Path& path, int64_t length) const {
  auto state = std::make_unique<SequenceState::Impl>(pool);
  if (length == 0) return state;
  const size_t n = pages_for(length);
  for (size_t i = 0; i < pool->parts.size(); ++i) {
    if (state->is_recurrent(i)) {
      Page* page = snapshot_at(path, length)->pages[i];
      state->snapshots[i].reserve(1);
      page->refs.fetch_add(1, std::memory_order_relaxed);  // cannot be zero: the index holds one
      state->snapshots[i].add({length, page, true});
      continue;
    }
    Table& t = state->tables[i];
    t.grow_capacity(n);
    t.pages.resize(n, nullptr);
    t.data.resize(n, nullptr);
    t.first_held = std::min(first_seen(pool->parts[i], length), n);
    for (size_t p = t.first_held; p < n; ++p) {
      Page* page = path.blocks[p]->pages[i];
      page->refs.fetch_add(1, std::memory_order_relaxed);
      t.set(p, page);
    }
  }
  state->length = length;
  return state;
}

// Positions past the length are another sequence's. Throws Code::out_of_memory.
void PrefixIndex::Impl::copy_tail(SequenceState::Impl& state) const {
  const int64_t used = state.length % kPageTokens;
  if (used == 0) return;
  const size_t last = pages_for(state.length) - 1;
  for (size_t i = 0; i < state.tables.size(); ++i)
    state.need[i] = !state.is_recurrent(i) && last >= state.tables[i].first_held;
  const LoanGuard guard{*pool, state.loan};
  pool->lend(state.need, state.loan);
  Release release(*pool);
  for (size_t i = 0; i < state.tables.size(); ++i) {
    if (state.need[i] == 0) continue;
    Page* const from = state.tables[i].pages[last];
    Page* const to = state.loan[i].pop();
    copy_positions(pool->parts[i], from->memory.data(), to->memory.data(), used);
    state.tables[i].set(last, to);
    release.drop(from);
  }
}

// The block of the tokens from the parent's end on; a longer one with all its pages stands for a partial
// one.
Block& PrefixIndex::Impl::place(Block& parent, std::span<const int32_t> tokens, const PrefixKey& key) {
  const BlockKey wanted = block_key(tokens, key, parent.is_root() ? 0 : parent.end());
  const auto n = static_cast<int64_t>(wanted.tokens.size());
  Block* there = n == kPageTokens ? trie.find_full(parent, wanted) : nullptr;
  if (!there && n < kPageTokens) {
    const auto [child, common] = trie.find_partial(parent, wanted);
    if (common == n && trie.has_all_pages(*child)) there = child;
  }
  return there ? *there : trie.make_block(parent, wanted, key.space);
}

void PrefixIndex::Impl::hold(Block& block, const SequenceState::Impl& state) {
  const auto p = static_cast<size_t>(block.start / kPageTokens);
  if (state.length >= block.end())  // else its page holds less than the block's
    for (size_t i = 0; i < state.tables.size(); ++i)
      if (p < state.tables[i].pages.size() && p >= first_seen(pool->parts[i], state.length) &&
          state.tables[i].pages[p])
        trie.hold_page(block, i, state.tables[i].pages[p]);
  if (!has_recurrent) return;
  const auto recurrent = static_cast<size_t>(
      std::find_if(pool->parts.begin(), pool->parts.end(),
                   [](const PartSpec& part) { return part.kind == PartKind::recurrent; }) -
      pool->parts.begin());
  const auto held = state.snapshots[recurrent].held();
  for (size_t s = 0; s < held.size(); ++s) {
    const int64_t offset = held[s].position - block.start;
    if (offset < 1 || offset > static_cast<int64_t>(block.tokens.size())) continue;
    std::vector<Page*> pages(state.tables.size());
    for (size_t i = 0; i < pages.size(); ++i)
      if (state.is_recurrent(i)) pages[i] = state.snapshots[i].held()[s].page;
    trie.hold_snapshot(block, offset, std::move(pages));
  }
}

void PrefixIndex::Impl::store(std::span<const int32_t> tokens, const PrefixKey& key,
                              const SequenceState::Impl& state, const Retention& retention) {
  Block* block = nullptr;
  try {
    block = &trie.make_root(key.space);
    for (int64_t at = 0; at < state.length; at += kPageTokens) {
      block = &place(*block, tokens, key);
      hold(*block, state);
      block->keep_until_us = std::max(block->keep_until_us, retention.keep_until_us);
      trie.freshen(*block, true);
    }
  } catch (const std::bad_alloc&) {  // what stands so far stands whole
  }
  if (!block) return;
  Release release(*pool);
  trie.trim(block, release);
}

uint64_t PrefixIndex::Impl::evict(uint64_t bytes, bool sole) {
  uint64_t freed = 0;
  Release release(*pool);
  const int64_t now = options.now_us();
  const uint64_t held = trie.counts.bytes;
  while ((sole ? freed : held - trie.counts.bytes) < bytes && trie.evict_one(sole, now, release, freed)) {
  }
  return freed;
}

// From the first full block that is not here on.
struct Wanted {
  int64_t start = 0;
  std::vector<Digest> names;
};

Wanted list_wanted(PrefixIndex::Impl& s, std::span<const int32_t> tokens, const PrefixKey& key) {
  const std::lock_guard lock(s.mutex);
  const Path path = s.find(tokens, key, INT64_MAX);
  const Block* last = nullptr;
  for (const Block* block : path.blocks)
    if (block->is_full() && block->end() <= path.n_tokens) last = block;
  Wanted out;
  out.start = last ? last->end() : 0;
  const Digest* parent = last ? &last->digest : nullptr;
  uint64_t bytes = 0;
  for (int64_t at = out.start; at + kPageTokens <= static_cast<int64_t>(tokens.size()); at += kPageTokens) {
    const Digest name = block_digest(parent, block_key(tokens, key, at), key.space);
    const uint64_t size = s.options.tier->size_of(name);
    if (size == 0) break;
    out.names.push_back(name);
    parent = &out.names.back();
    bytes += size;
  }
  const int64_t gained = static_cast<int64_t>(out.names.size()) * kPageTokens - (path.n_tokens - out.start);
  if (s.options.cheaper_to_load && !s.options.cheaper_to_load(path.n_tokens, gained, bytes))
    out.names.clear();
  return out;
}

// A block that came from a tier. Its pages are its own until the index holds them too.
struct LoadedBlock {
  explicit LoadedBlock(StatePool::Impl& p)
      : pool(p), pages(p.parts.size()), need(pages.size()), loan(pages.size()) {}
  ~LoadedBlock() {
    Release release(pool);
    for (Page* page : pages) release.drop(page);
    for (const BlockSnapshot& s : snapshots)
      for (Page* page : s.pages) release.drop(page);
  }
  LoadedBlock(const LoadedBlock&) = delete;
  LoadedBlock& operator=(const LoadedBlock&) = delete;

  // Throws Code::out_of_memory. Null for what no such block has.
  std::byte* place(const BlockPiece& piece, uint64_t n_bytes) {
    if (piece.part >= pages.size()) return nullptr;
    const PartSpec& part = pool.parts[piece.part];
    const bool recurrent = part.kind == PartKind::recurrent;
    if (n_bytes != static_cast<uint64_t>(part.page_bytes()) || recurrent != (piece.offset != 0) ||
        piece.offset < 0 || piece.offset > kPageTokens)
      return nullptr;
    if (recurrent && (snapshots.empty() || snapshots.back().offset < piece.offset))
      snapshots.push_back({piece.offset, std::vector<Page*>(pages.size())});
    Page*& page = recurrent ? snapshots.back().pages[piece.part] : pages[piece.part];
    if (page || (recurrent && snapshots.back().offset != piece.offset)) return nullptr;
    std::fill(need.begin(), need.end(), 0);
    need[piece.part] = 1;
    const LoanGuard guard{pool, loan};
    pool.lend(need, loan);
    page = loan[piece.part].pop();
    return page->memory.data();
  }
  bool is_whole() const {
    for (size_t i = 0; i < pages.size(); ++i) {
      if (pool.parts[i].kind == PartKind::pages && !pages[i]) return false;
      if (pool.parts[i].kind != PartKind::recurrent) continue;
      for (const BlockSnapshot& s : snapshots)
        if (!s.pages[i]) return false;
    }
    return true;
  }

  StatePool::Impl& pool;
  std::vector<Page*> pages;
  std::vector<BlockSnapshot> snapshots;
  std::vector<uint64_t> need;
  std::vector<PageList> loan;
};

// What a tier has of the tokens. It waits for the tier without the lock; whatever fails ends it.
void PrefixIndex::Impl::load(std::span<const int32_t> tokens, const PrefixKey& key, int64_t most) {
  tokens = tokens.first(static_cast<size_t>(most));
  const Wanted wanted = list_wanted(*this, tokens, key);
  int64_t at = wanted.start;
  for (const Digest& name : wanted.names) {
    LoadedBlock loaded(*pool);
    bool ok = false;
    try {
      ok = options.tier->get(name, [&](const BlockPiece& p, uint64_t n) { return loaded.place(p, n); });
    } catch (const Error&) {  // no page for it
    }
    const std::lock_guard lock(mutex);
    const auto before = tokens.first(static_cast<size_t>(at));
    const Path path = find(before, key, at);
    if (!ok || !loaded.is_whole() || path.n_tokens != at) {
      ++trie.counts.loads_failed;
      return;
    }
    Block& parent = path.blocks.empty() ? trie.make_root(key.space) : *path.blocks.back();
    Block& block = place(parent, tokens.first(static_cast<size_t>(at + kPageTokens)), key);
    for (size_t i = 0; i < loaded.pages.size(); ++i)
      if (loaded.pages[i]) trie.hold_page(block, i, loaded.pages[i]);
    for (const BlockSnapshot& s : loaded.snapshots) trie.hold_snapshot(block, s.offset, s.pages);
    trie.freshen(block, true);
    ++trie.counts.blocks_loaded;
    at += kPageTokens;
  }
}

PrefixIndex::PrefixIndex(const StatePool& pool, PrefixOptions options)
    : impl_(std::make_unique<Impl>(pool, std::move(options))) {
  impl_->pool->set_reclaim([impl = impl_.get()](uint64_t bytes) {
    const std::lock_guard lock(impl->mutex);
    return impl->evict(bytes, true) > 0;
  });
}

PrefixIndex::~PrefixIndex() { impl_->pool->set_reclaim({}); }

void PrefixIndex::store(std::span<const int32_t> tokens, const PrefixKey& key, const SequenceState& state,
                        const Retention& retention) {
  Impl& s = *impl_;
  const SequenceState::Impl& from = state.impl();
  if (from.pool != s.pool) fail(Code::invalid_argument, "prefix index", "the state is of another pool");
  if (static_cast<int64_t>(tokens.size()) < from.length)
    fail(Code::invalid_argument, "prefix index",
         format("{} tokens for a state of {}", tokens.size(), from.length));
  const std::lock_guard lock(s.mutex);
  s.store(tokens.first(static_cast<size_t>(from.length)), key, from, retention);
  if (s.trie.counts.bytes > s.options.max_bytes) s.evict(s.trie.counts.bytes - s.options.max_bytes, false);
}

PrefixMatch PrefixIndex::match(std::span<const int32_t> tokens, const PrefixKey& key, int64_t most) {
  Impl& s = *impl_;
  most = std::clamp<int64_t>(most, 0, static_cast<int64_t>(tokens.size()));
  if (s.options.tier) s.load(tokens, key, most);
  std::unique_ptr<SequenceState::Impl> state;
  for (int64_t limit = most;;) {
    {
      const std::lock_guard lock(s.mutex);
      const Path path = s.find(tokens, key, most);
      const int64_t length = s.longest(path, limit);
      state = s.adopt(path, length);
      s.freshen(path, length);
    }
    try {
      s.copy_tail(*state);
      break;
    } catch (const Error& e) {
      if (e.code() != Code::out_of_memory) throw;
      limit = state->length / kPageTokens * kPageTokens;  // a length that takes no page
    }
  }
  const std::lock_guard lock(s.mutex);
  PrefixStats& counts = s.trie.counts;
  ++counts.lookups;
  counts.hits += state->length > 0;
  counts.tokens_possible += static_cast<uint64_t>(most);
  counts.tokens_hit += static_cast<uint64_t>(state->length);
  const int64_t n = state->length;
  return {SequenceState(std::move(state)), n};
}

int64_t PrefixIndex::peek(std::span<const int32_t> tokens, const PrefixKey& key, int64_t most) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->longest(impl_->find(tokens, key, most), most);
}

void PrefixIndex::release(std::span<const int32_t> tokens, const PrefixKey& key) {
  const std::lock_guard lock(impl_->mutex);
  for (Block* block : impl_->find(tokens, key, INT64_MAX).blocks) block->keep_until_us = 0;
}

uint64_t PrefixIndex::evict(uint64_t bytes) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->evict(bytes, true);
}

void PrefixIndex::clear() {
  const std::lock_guard lock(impl_->mutex);
  impl_->trie.clear();
}

PrefixStats PrefixIndex::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->trie.counts;
}

void PrefixIndex::list(PrefixEvents& to) const {
  const std::lock_guard lock(impl_->mutex);
  for (const auto& [space, root] : impl_->trie.roots()) {
    std::vector<const Block*> open{root.get()};
    while (!open.empty()) {
      const Block& block = *open.back();
      open.pop_back();
      if (block.is_full() && !block.is_root())
        to.stored({block.digest, block.parent->is_root() ? std::nullopt : std::optional(block.parent->digest),
                   block.tokens, kPageTokens, space});
      open.insert(open.end(), block.children.begin(), block.children.end());
    }
  }
}

}  // namespace ingle::kv
