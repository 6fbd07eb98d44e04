// Private to the room: the pages behind a StatePool.
#pragma once
#include <algorithm>
#include <atomic>
#include <mutex>

#include "kv/state.h"

namespace ingle::kv {

// kPageTokens positions of one part. A page is its own slab: for real models it measures megabytes, and with
// one allocation each, memory moves freely between parts, so whatever fits the budget in sum can be lent.
struct Page {
  Page(const Allocator& allocator, size_t bytes, size_t part_index)
      : memory(allocator, bytes), part(part_index) {}
  Buffer memory;
  size_t part;
  std::atomic<uint32_t> refs{0};
  Page* next = nullptr;  // in a free list or a PageList
};

// A chain of pages through Page::next. Never allocates, so giving back cannot fail.
class PageList {
 public:
  bool empty() const { return head_ == nullptr; }
  void push(Page* page) {
    page->next = head_;
    head_ = page;
  }
  Page* pop() {
    Page* page = head_;
    head_ = page->next;
    page->next = nullptr;
    return page;
  }

 private:
  Page* head_ = nullptr;
};

struct StatePool::Impl {
  Impl(const Allocator& user_allocator, std::vector<PartSpec> specs, uint64_t budget);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Lends need[i] pages of each part i, added to out[i] with one reference each and unknown content. Throws
  // Code::out_of_memory before the first when the budget is short and nothing more can be reclaimed; when the
  // allocator is, `out` has a part of them.
  void lend(std::span<const uint64_t> need, std::span<PageList> out);
  // Takes back pages that nobody refers to.
  void take_back(PageList& list) noexcept;

  void set_reclaim(std::function<bool(uint64_t bytes)> f) {
    const std::lock_guard lock(reclaim_mutex);
    reclaim = std::move(f);
  }

  const Allocator allocator;
  const std::vector<PartSpec> parts;
  const uint64_t budget_bytes;
  mutable std::mutex mutex;
  std::mutex reclaim_mutex;  // never taken while the other is held
  std::function<bool(uint64_t bytes)> reclaim;
  // Under the mutex:
  std::vector<PageList> free;  // [part]
  uint64_t lent_bytes = 0;     // pages that somebody refers to
  uint64_t held_bytes = 0;     // those and the free ones: what the allocator has given

 private:
  uint64_t page_bytes(size_t part) const { return static_cast<uint64_t>(parts[part].page_bytes()); }
  // By how many bytes the need exceeds what is not lent; 0 when it fits.
  uint64_t shortage(uint64_t bytes) const { return bytes - std::min(bytes, budget_bytes - lent_bytes); }
  uint64_t bytes_of(std::span<const uint64_t> need) const;
  bool give_back(uint64_t bytes);
  Page* take_page(size_t part);
  void make_room(uint64_t bytes);
  void return_page(Page* page) noexcept;
};

// Drops references; those pages that nobody refers to any more go back together, under one lock.
class Release {
 public:
  explicit Release(StatePool::Impl& pool) : pool_(pool) {}
  ~Release() {
    if (!list_.empty()) pool_.take_back(list_);
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  void drop(Page* page) noexcept {
    // acq_rel: what this owner read and wrote happens before the page's next use.
    if (page && page->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) list_.push(page);
  }

 private:
  StatePool::Impl& pool_;
  PageList list_;
};

}  // namespace ingle::kv
