// Private to the room: what a SequenceState holds.
#pragma once
#include <algorithm>

#include "core/checked_math.h"
#include "kv/pool.h"
#include "kv/snapshots.h"

namespace ingle::kv {

constexpr int64_t kMaxTokens = int64_t{1} << 40;  // keeps all arithmetic on positions far from overflow

// The block table of one part. pages[p] and data[p] speak of the same page; both are null where it was given
// back.
struct Table {
  std::vector<Page*> pages;
  std::vector<std::byte*> data;
  size_t first_held = 0;  // every entry before it is null

  void set(size_t index, Page* page) {
    pages[index] = page;
    data[index] = page ? page->memory.data() : nullptr;
  }
  void resize(size_t n) {
    pages.resize(n, nullptr);
    data.resize(n, nullptr);
    first_held = std::min(first_held, n);
  }
  // Geometric, so that one token at a time costs no allocation on most pages either.
  void grow_capacity(size_t n) {
    if (pages.capacity() < n) pages.reserve(std::max(n, 2 * pages.capacity()));
    if (data.capacity() < n) data.reserve(std::max(n, 2 * data.capacity()));
  }
};

// Copies the first `used` positions of a page and zeroes the rest: a fork must not see what its parent wrote
// later, least of all when the two belong to different users.
void copy_positions(const PartSpec& part, const std::byte* from, std::byte* to, int64_t used);

inline size_t pages_for(int64_t tokens) { return static_cast<size_t>(ceil_div(tokens, kPageTokens)); }

// A window's pages, and a tail's, go when no later query sees them.
inline bool slides(const PartSpec& part) {
  return part.kind == PartKind::window || part.kind == PartKind::tail;
}
// Of a part: the first page that the next query, at `length`, sees.
inline size_t first_seen(const PartSpec& part, int64_t length) {
  if (part.kind == PartKind::tail) return static_cast<size_t>(length / kPageTokens);
  if (part.kind != PartKind::window) return 0;
  return static_cast<size_t>(std::max<int64_t>(0, length - part.window + 1) / kPageTokens);
}
// The first page that is kept: of a tail also what a truncate by up to a page would want back.
inline size_t first_kept(const PartSpec& part, int64_t length) {
  return first_seen(part, part.kind == PartKind::tail ? std::max<int64_t>(0, length - kPageTokens) : length);
}

struct SequenceState::Impl {
  explicit Impl(std::shared_ptr<StatePool::Impl> p)
      : pool(std::move(p)),
        tables(pool->parts.size()),
        snapshots(tables.size()),
        need(tables.size()),
        loan(tables.size()) {
    for (size_t i = 0; i < tables.size(); ++i) has_recurrent |= is_recurrent(i);
  }
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // The longest state of at most n tokens that recurrent parts and tails can go back to.
  int64_t last_at_most(int64_t n) const;
  bool is_recurrent(size_t part) const { return pool->parts[part].kind == PartKind::recurrent; }

  std::shared_ptr<StatePool::Impl> pool;
  std::vector<Table> tables;             // [part]
  std::vector<SnapshotTable> snapshots;  // [part], of recurrent ones
  bool has_recurrent = false;
  int64_t length = 0, reserved = 0;
  // Scratch of reserve(), kept so that it does not allocate.
  std::vector<uint64_t> need;
  std::vector<PageList> loan;
  std::vector<int64_t> due;  // positions of the snapshots that the reservation writes

  void list_due(int64_t end, Commits commits, bool on_the_way);
  bool count_need(int64_t end);
  void lend(int64_t end);
  bool drop_kept() noexcept;
  void drop_due() noexcept;
  void fill(size_t part, size_t last, Release& release) noexcept;
  void drop_after(int64_t n_tokens) noexcept;
  void drop_unseen() noexcept;
};

// Whatever is left of a loan goes back: all of it after a failure, pages that turned out needless otherwise.
struct LoanGuard {
  StatePool::Impl& pool;
  std::vector<PageList>& loan;
  ~LoanGuard() {
    Release release(pool);
    for (PageList& list : loan)
      while (!list.empty()) release.drop(list.pop());
  }
};

}  // namespace ingle::kv
