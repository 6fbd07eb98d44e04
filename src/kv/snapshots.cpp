#include "kv/snapshots.h"

#include <algorithm>

namespace ingle::kv {

int64_t SnapshotTable::last_at_most(int64_t n) const {
  int64_t last = 0;
  for (const Held& h : held_)
    if (h.position <= n) last = h.position;
  return last;
}

bool SnapshotTable::is_due(int64_t position) const {
  return std::any_of(due_.begin(), due_.end(), [&](const Snapshot& s) { return s.position == position; });
}

void SnapshotTable::grow_capacity(size_t n_due) {
  const auto grow = [](auto& v, size_t n) {
    if (v.capacity() < n) v.reserve(std::max(n, 2 * v.capacity()));
  };
  grow(due_, n_due);
  grow(due_pages_, n_due);
  grow(held_, held_.size() + n_due);
}

void SnapshotTable::set_due(std::span<const int64_t> positions, PageList& loan, Release& release) noexcept {
  drop_due(release);
  for (const int64_t position : positions) {
    Page* page = loan.pop();
    due_pages_.push_back(page);
    due_.push_back({position, page->memory.data()});
  }
}

void SnapshotTable::commit(int64_t position, Release& release) noexcept {
  for (size_t i = 0; i < due_.size(); ++i) {
    if (due_[i].position <= position)
      held_.push_back({due_[i].position, due_pages_[i], false});
    else
      release.drop(due_pages_[i]);
  }
  due_.clear();
  due_pages_.clear();
  thin(release);
}

void SnapshotTable::truncate(int64_t position, Release& release) noexcept {
  drop_due(release);
  while (!held_.empty() && held_.back().position > position) {
    release.drop(held_.back().page);
    held_.pop_back();
  }
}

void SnapshotTable::mark() noexcept {
  if (held_.empty()) return;
  held_.back().marked = true;
  int marks = 0;
  for (size_t i = held_.size(); i-- > 0;)
    if (held_[i].marked && ++marks > kMaxMarks) held_[i].marked = false;
}

void SnapshotTable::thin(Release& release) noexcept {
  if (held_.empty()) return;
  const int64_t interval = kept_interval(held_.back().position);
  size_t n = 0;
  for (size_t i = 0; i < held_.size(); ++i) {
    if (i + 1 == held_.size() || held_[i].marked || held_[i].position % interval == 0)
      held_[n++] = held_[i];
    else
      release.drop(held_[i].page);
  }
  held_.resize(n);
}

void SnapshotTable::drop_kept(Release& release) noexcept {
  while (held_.size() > 1) {
    release.drop(held_.front().page);
    held_.erase(held_.begin());
  }
}

void SnapshotTable::drop_due(Release& release) noexcept {
  for (Page* page : due_pages_) release.drop(page);
  due_.clear();
  due_pages_.clear();
}

void SnapshotTable::share(const SnapshotTable& from) {
  held_.reserve(from.held_.size());
  for (const Held& h : from.held_) {
    h.page->refs.fetch_add(1, std::memory_order_relaxed);  // cannot be zero: `from` holds one
    held_.push_back(h);
  }
}

}  // namespace ingle::kv
