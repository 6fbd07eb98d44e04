#include "kv/prefix_trie.h"

#include <random>

namespace ingle::kv {
namespace {

HashKey random_key() {
  std::random_device random;
  const auto word = [&] { return uint64_t{random()} << 32 | random(); };
  return {word(), word()};
}

}  // namespace

BlockKey block_key(std::span<const int32_t> tokens, const PrefixKey& key, int64_t start) {
  const auto n = std::min<int64_t>(kPageTokens, static_cast<int64_t>(tokens.size()) - start);
  const auto before = [](const MediaMark& m, int64_t position) { return m.position < position; };
  const auto first = std::lower_bound(key.media.begin(), key.media.end(), start, before);
  const auto last = std::lower_bound(first, key.media.end(), start + n, before);
  return {tokens.subspan(static_cast<size_t>(start), static_cast<size_t>(n)),
          std::span(key.media).subspan(static_cast<size_t>(first - key.media.begin()),
                                       static_cast<size_t>(last - first))};
}

int64_t common_tokens(const Block& block, const BlockKey& key) {
  const auto mark = std::mismatch(block.media.begin(), block.media.end(), key.media.begin(), key.media.end());
  int64_t n = static_cast<int64_t>(std::min(block.tokens.size(), key.tokens.size()));
  if (mark.first != block.media.end()) n = std::min(n, mark.first->position - block.start);
  if (mark.second != key.media.end()) n = std::min(n, mark.second->position - block.start);
  const auto end = block.tokens.begin() + n;
  return std::mismatch(block.tokens.begin(), end, key.tokens.begin()).first - block.tokens.begin();
}

Digest block_digest(const Digest* parent, const BlockKey& key, std::string_view space) {
  Sha256 digest;
  if (parent)
    digest.add(*parent);
  else
    digest.add(std::as_bytes(std::span(space)));
  digest.add_value(uint64_t{key.tokens.size()}).add(std::as_bytes(key.tokens));
  for (const MediaMark& m : key.media) digest.add_value(m.position).add(m.digest);
  return digest.finish();
}

PrefixTrie::PrefixTrie(std::shared_ptr<StatePool::Impl> pool, const PrefixOptions& options)
    : pool_(std::move(pool)),
      options_(options),
      hash_key_(options.hash_key ? *options.hash_key : random_key()) {}

const Block* PrefixTrie::find_root(const std::string& space) const {
  const auto found = roots_.find(space);
  return found == roots_.end() ? nullptr : found->second.get();
}

Block& PrefixTrie::make_root(const std::string& space) {
  auto& root = roots_[space];
  if (!root) {
    root = std::make_unique<Block>();
    root->id = next_id_++;
  }
  return *root;
}

uint64_t PrefixTrie::hash_of(const Block& parent, const BlockKey& key) const {
  SipHash hash(hash_key_);
  hash.add(parent.id);
  hash.add(std::as_bytes(key.tokens));
  for (const MediaMark& m : key.media) {
    hash.add(static_cast<uint64_t>(m.position));
    hash.add(std::span<const std::byte>(m.digest));
  }
  return hash.finish();
}

Block* PrefixTrie::find_full(const Block& parent, const BlockKey& key) const {
  const auto [first, last] = full_.equal_range(hash_of(parent, key));
  for (auto i = first; i != last; ++i) {
    Block& b = *i->second;
    if (b.parent == &parent && std::ranges::equal(b.tokens, key.tokens) &&
        std::ranges::equal(b.media, key.media))
      return &b;
  }
  return nullptr;
}

std::pair<Block*, int64_t> PrefixTrie::find_partial(const Block& parent, const BlockKey& key) const {
  std::pair<Block*, int64_t> best{nullptr, 0};
  for (Block* child : parent.children) {
    if (child->tokens[0] != key.tokens[0]) continue;
    const int64_t n = common_tokens(*child, key);
    if (n > best.second ||
        (n > 0 && n == best.second && has_all_pages(*child) && !has_all_pages(*best.first)))
      best = {child, n};
  }
  return best;
}

// The partial block that begins as the key does and ends within it or with it.
Block* PrefixTrie::find_tail(const Block& parent, const BlockKey& key) const {
  for (Block* child : parent.children)
    if (!child->is_full() && child->tokens[0] == key.tokens[0] &&
        common_tokens(*child, key) == static_cast<int64_t>(child->tokens.size()))
      return child;
  return nullptr;
}

bool PrefixTrie::has_all_pages(const Block& block) const {
  for (size_t i = 0; i < block.pages.size(); ++i)
    if (!block.pages[i] && pool_->parts[i].kind != PartKind::recurrent) return false;
  return true;
}

// What a block is called, and where it is found by that.
void PrefixTrie::set_key(Block& block, const BlockKey& key, std::string_view space) {
  std::vector<int32_t> tokens(key.tokens.begin(), key.tokens.end());
  std::vector<MediaMark> media(key.media.begin(), key.media.end());
  const bool full = static_cast<int64_t>(tokens.size()) == kPageTokens;
  if (full) {
    block.hash = hash_of(*block.parent, key);
    full_.emplace(block.hash, &block);
  }
  block.tokens = std::move(tokens);
  block.media = std::move(media);
  if (!full || !(options_.events || options_.tier)) return;
  const Digest* const before = block.parent->is_root() ? nullptr : &block.parent->digest;
  block.digest = block_digest(before, {block.tokens, block.media}, space);
  if (!options_.events) return;
  options_.events->stored(
      {block.digest, before ? std::optional(*before) : std::nullopt, block.tokens, kPageTokens, space});
}

Block& PrefixTrie::make_block(Block& parent, const BlockKey& key, std::string_view space) {
  if (Block* const tail = find_tail(parent, key)) {
    Release release(*pool_);
    set_key(*tail, key, space);
    for (Page*& page : tail->pages) drop_page(page, release);  // they hold fewer positions
    return *tail;
  }
  auto block = std::make_unique<Block>();
  block->parent = &parent;
  block->start = parent.is_root() ? 0 : parent.end();
  block->id = block->used = next_id_++;
  block->pages.resize(pool_->parts.size());
  if (parent.children.size() == parent.children.capacity())
    parent.children.reserve(std::max<size_t>(4, 2 * parent.children.size()));
  set_key(*block, key, space);
  parent.children.push_back(block.get());
  ++counts.blocks;
  ++counts.blocks_stored;
  settle(parent);
  settle(*block);
  return *block.release();
}

void PrefixTrie::hold_page(Block& block, size_t part, Page* page) {
  if (block.pages[part]) return;
  page->refs.fetch_add(1, std::memory_order_relaxed);  // cannot be zero: the state holds one
  block.pages[part] = page;
  counts.bytes += page->memory.size();
}

void PrefixTrie::hold_snapshot(Block& block, int64_t offset, std::vector<Page*> pages) {
  const auto at = std::find_if(block.snapshots.begin(), block.snapshots.end(),
                               [&](const BlockSnapshot& s) { return s.offset >= offset; });
  if (at != block.snapshots.end() && at->offset == offset) return;
  const BlockSnapshot& held = *block.snapshots.insert(at, {offset, std::move(pages)});
  for (Page* page : held.pages) {
    if (!page) continue;
    page->refs.fetch_add(1, std::memory_order_relaxed);
    counts.bytes += page->memory.size();
  }
}

double PrefixTrie::worth(const Block& block) const {
  return static_cast<double>(block.tokens.size()) *
         (1 + options_.context_cost * static_cast<double>(block.start));
}

bool PrefixTrie::has_extras(const Block& block) const {
  if (!block.snapshots.empty()) return true;
  for (size_t i = 0; i < block.pages.size(); ++i)
    if (block.pages[i] && slides(pool_->parts[i])) return true;
  return false;
}

// Puts a block into the queues where it belongs: leaves go as a whole, of others the extras alone. Without
// memory for that it is passed over until it is settled again.
void PrefixTrie::settle(Block& block) noexcept {
  if (block.is_root()) return;
  if (block.is_queued) leaves_.erase({block.base_value, block.used, &block});
  if (block.extras_queued) extras_.erase({block.extra_value, block.used, &block});
  block.is_queued = block.extras_queued = false;
  try {
    if (block.children.empty())
      block.is_queued = leaves_.insert({block.base_value, block.used, &block}).second;
    else if (has_extras(block))
      block.extras_queued = extras_.insert({block.extra_value, block.used, &block}).second;
  } catch (const std::bad_alloc&) {
  }
}

void PrefixTrie::freshen(Block& block, bool extras) {
  if (block.is_root()) return;
  if (block.is_queued) leaves_.erase({block.base_value, block.used, &block});
  if (block.extras_queued) extras_.erase({block.extra_value, block.used, &block});
  block.is_queued = block.extras_queued = false;
  // Uses of as many blocks as there are raise the clock by a block's worth: one that is worth twice as much
  // is kept twice as long.
  clock_ += worth(block) / static_cast<double>(counts.blocks + 1);
  block.base_value = clock_ + worth(block);
  block.used = next_id_++;
  if (extras) block.extra_value = block.base_value;
  settle(block);
}

void PrefixTrie::drop_page(Page*& page, Release& release) noexcept {
  if (!page) return;
  counts.bytes -= page->memory.size();
  release.drop(page);
  page = nullptr;
}

void PrefixTrie::drop_extras(Block& block, Release& release) noexcept {
  for (size_t i = 0; i < block.pages.size(); ++i)
    if (slides(pool_->parts[i])) drop_page(block.pages[i], release);
  for (BlockSnapshot& s : block.snapshots)
    for (Page*& page : s.pages) drop_page(page, release);
  block.snapshots.clear();
}

void PrefixTrie::spill(const Block& block) {
  std::vector<BlockPiece> pieces;
  std::vector<std::span<const std::byte>> bytes;
  const auto add = [&](size_t part, int64_t offset, const Page* page) {
    if (!page) return;
    pieces.push_back({static_cast<uint32_t>(part), offset});
    bytes.emplace_back(page->memory.data(), page->memory.size());
  };
  for (size_t i = 0; i < block.pages.size(); ++i) add(i, 0, block.pages[i]);
  for (const BlockSnapshot& s : block.snapshots)
    for (size_t i = 0; i < s.pages.size(); ++i) add(i, s.offset, s.pages[i]);
  options_.tier->put(block.digest, pieces, bytes);
  ++counts.blocks_spilled;
}

// Takes a leaf out of the trie.
void PrefixTrie::unlink(Block& block, Release& release) noexcept {
  if (block.is_queued) leaves_.erase({block.base_value, block.used, &block});
  if (block.extras_queued) extras_.erase({block.extra_value, block.used, &block});
  drop_extras(block, release);
  for (Page*& page : block.pages) drop_page(page, release);
  if (block.is_full()) {
    const auto [first, last] = full_.equal_range(block.hash);
    full_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == &block; }));
    if (options_.events) options_.events->removed(block.digest);
  }
  --counts.blocks;
  Block& parent = *block.parent;
  std::erase(parent.children, &block);
  delete &block;
  if (parent.children.empty()) settle(parent);
}

void PrefixTrie::trim(Block* block, Release& release) {
  while (!block->is_root() && block->children.empty() && block->snapshots.empty() &&
         std::all_of(block->pages.begin(), block->pages.end(), [](const Page* p) { return p == nullptr; })) {
    Block* parent = block->parent;
    unlink(*block, release);
    block = parent;
  }
  if (!block->is_root() || !block->children.empty()) return;
  std::erase_if(roots_, [&](const auto& entry) { return entry.second.get() == block; });
}

uint64_t PrefixTrie::sole_bytes(const Block& block, bool extras_alone) const {
  uint64_t bytes = 0;
  const auto count = [&](const Page* page) {
    if (page && page->refs.load(std::memory_order_acquire) == 1) bytes += page->memory.size();
  };
  for (size_t i = 0; i < block.pages.size(); ++i)
    if (!extras_alone || slides(pool_->parts[i])) count(block.pages[i]);
  for (const BlockSnapshot& s : block.snapshots)
    for (const Page* page : s.pages) count(page);
  return bytes;
}

// Those that a sequence uses are as fresh as if they had been asked for, so they are not looked at again
// soon.
Block* PrefixTrie::least(Queue& queue, bool extras_alone, bool sole, int64_t now_us) {
  constexpr size_t kMostFreshened = 64;
  std::vector<Block*> in_use;
  Block* found = nullptr;
  for (const auto& [value, used, block] : queue) {
    if (block->keep_until_us > now_us) continue;
    if (!sole || sole_bytes(*block, extras_alone) > 0) {
      found = block;
      break;
    }
    if (in_use.size() < kMostFreshened) in_use.push_back(block);
  }
  for (Block* block : in_use) freshen(*block, extras_alone);
  return found;
}

bool PrefixTrie::evict_one(bool sole, int64_t now_us, Release& release, uint64_t& freed) {
  Block* const leaf = least(leaves_, false, sole, now_us);
  Block* const inner = least(extras_, true, sole, now_us);
  if (!leaf && !inner) return false;
  if (inner && (!leaf || inner->extra_value < leaf->base_value)) {
    freed += sole_bytes(*inner, true);
    drop_extras(*inner, release);
    settle(*inner);
    ++counts.states_dropped;
    return true;
  }
  if (options_.tier && leaf->is_full()) spill(*leaf);
  freed += sole_bytes(*leaf, false);
  Block* const parent = leaf->parent;
  unlink(*leaf, release);
  ++counts.blocks_evicted;
  trim(parent, release);
  return true;
}

void PrefixTrie::clear() {
  Release release(*pool_);
  const auto events = std::move(options_.events);  // one word for all
  options_.events = nullptr;
  for (auto& [space, root] : roots_) {
    Block* block = root.get();
    while (!block->is_root() || !block->children.empty()) {
      if (!block->children.empty()) {
        block = block->children.back();
        continue;
      }
      Block* parent = block->parent;
      unlink(*block, release);
      block = parent;
    }
  }
  roots_.clear();
  options_.events = events;
  if (options_.events) options_.events->cleared();
}

}  // namespace ingle::kv
