// Private to the room: the snapshots of a recurrent part. A state that every token replaces cannot be cut
// back, so a step never changes a state that counts: it reads the snapshot at the sequence's length and
// writes fresh ones. Committed snapshots are never written again; forks share them without copies.
#pragma once
#include <vector>

#include "kv/pool.h"

namespace ingle::kv {

// Snapshots that are kept on the way: at multiples of an interval that doubles with the length, so that there
// are at most kMaxKept of them, and at the last kMaxMarks marked positions.
constexpr int64_t kFirstInterval = 256, kMaxKept = 8;
constexpr int kMaxMarks = 4;

inline int64_t kept_interval(int64_t length) {
  int64_t interval = kFirstInterval;
  while (length / interval > kMaxKept) interval *= 2;
  return interval;
}

// One part's snapshots; all recurrent parts of a sequence have them at the same positions.
class SnapshotTable {
 public:
  struct Held {
    int64_t position;
    Page* page;
    bool marked;
  };

  int64_t last_at_most(int64_t n) const;  // the last held position that is <= n; 0 when there is none
  bool is_due(int64_t position) const;
  const std::byte* current() const { return held_.empty() ? nullptr : held_.back().page->memory.data(); }
  std::span<const Snapshot> due() const { return due_; }
  std::span<const Held> held() const { return held_; }
  void reserve(size_t n) { held_.reserve(n); }
  void add(const Held& held) { held_.push_back(held); }  // past the last; its page's reference is the table's

  void grow_capacity(size_t n_due);  // the only one that allocates
  // Pages for the snapshots at `positions` become due, in place of what was due before.
  void set_due(std::span<const int64_t> positions, PageList& loan, Release& release) noexcept;
  // What is due up to `position` counts; what is due past it goes back.
  void commit(int64_t position, Release& release) noexcept;
  void truncate(int64_t position, Release& release) noexcept;
  void mark() noexcept;
  bool has_kept() const { return held_.size() > 1; }
  void drop_kept(Release& release) noexcept;  // all but the last
  void drop_due(Release& release) noexcept;
  void share(const SnapshotTable& from);  // into an empty table

 private:
  void thin(Release& release) noexcept;
  std::vector<Held> held_;  // ascending positions; the last is the sequence's length
  std::vector<Snapshot> due_;
  std::vector<Page*> due_pages_;
};

}  // namespace ingle::kv
