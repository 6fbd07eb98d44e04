#include "kv/state.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/checked_math.h"
#include "core/error.h"
#include "kv/pool.h"

namespace ingle::kv {
namespace {

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

// Acquire: when the other owners have let go, what they did to the page happened before what we do to it.
bool is_shared(const Page* page) { return page->refs.load(std::memory_order_acquire) > 1; }

// Copies the first `used` positions of a page and zeroes the rest: a fork must not see what its parent wrote
// later, least of all when the two belong to different users.
void copy_positions(const PartSpec& part, const Page& from, Page& to, int64_t used) {
  const size_t key_bytes = static_cast<size_t>(part.dk) * kPageTokens;
  const size_t element = static_cast<size_t>(part.tile_bytes() / ((part.dk + part.dv) * kPageTokens));
  const size_t row_used = static_cast<size_t>(used) * element, row = kPageTokens * element;
  const size_t value_used = row_used * static_cast<size_t>(part.dv),
               values = row * static_cast<size_t>(part.dv);
  const std::byte* src = from.memory.data();
  std::byte* dst = to.memory.data();
  for (const std::byte* end = src + from.memory.size(); src != end;) {
    for (size_t k = 0; k < key_bytes; k += kPageTokens, src += row, dst += row) {  // K [dk][32]
      std::memcpy(dst, src, row_used);
      std::memset(dst + row_used, 0, row - row_used);
    }
    std::memcpy(dst, src, value_used);  // V [32][dv]
    std::memset(dst + value_used, 0, values - value_used);
    src += values;
    dst += values;
  }
}

}  // namespace

struct SequenceState::Impl {
  explicit Impl(std::shared_ptr<StatePool::Impl> p)
      : pool(std::move(p)), tables(pool->parts.size()), need(tables.size()), loan(tables.size()) {}
  ~Impl() {
    Release release(*pool);
    for (Table& t : tables)
      for (Page* page : t.pages) release.drop(page);
  }

  std::shared_ptr<StatePool::Impl> pool;
  std::vector<Table> tables;  // [part]
  int64_t length = 0, reserved = 0;
  // Scratch of reserve(), kept so that it does not allocate.
  std::vector<uint64_t> need;
  std::vector<PageList> loan;

  bool count_need(int64_t end);
  void fill(size_t part, size_t last, Release& release) noexcept;
  void drop_after(int64_t n_tokens) noexcept;
  void drop_unseen() noexcept;
};

namespace {

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

size_t pages_for(int64_t tokens) { return static_cast<size_t>(ceil_div(tokens, kPageTokens)); }

}  // namespace

// How many pages each part lacks to write [length, end). False when none.
bool SequenceState::Impl::count_need(int64_t end) {
  bool any = false;
  const size_t first = static_cast<size_t>(length / kPageTokens), n = pages_for(end);
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto& pages = tables[i].pages;
    need[i] = n - std::min(n, std::max(first, pages.size()));
    for (size_t p = first; p < std::min(n, pages.size()); ++p)
      if (!pages[p] || is_shared(pages[p])) ++need[i];
    any |= need[i] != 0;
  }
  return any;
}

// Puts lent pages where [length, 32 · last) needs them. Another owner may have let go of a shared page since
// it was counted; then it needs no copy, and the loan keeps one too many.
void SequenceState::Impl::fill(size_t part, size_t last, Release& release) noexcept {
  Table& t = tables[part];
  const size_t first = static_cast<size_t>(length / kPageTokens);
  if (t.pages.size() < last) t.resize(last);
  for (size_t p = first; p < last; ++p) {
    Page* old = t.pages[p];
    if (old && !is_shared(old)) continue;
    Page* page = loan[part].pop();
    const int64_t used = std::max<int64_t>(0, length - static_cast<int64_t>(p) * kPageTokens);
    if (old && used > 0)
      copy_positions(pool->parts[part], *old, *page, used);
    else
      page->memory.fill_zero();  // nothing of another sequence may show
    t.set(p, page);
    t.first_held = std::min(t.first_held, p);
    release.drop(old);
  }
}

// Gives back the pages wholly past the first n_tokens.
void SequenceState::Impl::drop_after(int64_t n_tokens) noexcept {
  Release release(*pool);
  const size_t keep = pages_for(n_tokens);
  for (Table& t : tables) {
    if (t.pages.size() <= keep) continue;
    for (size_t p = keep; p < t.pages.size(); ++p) release.drop(t.pages[p]);
    t.resize(keep);
  }
}

// The next query is at `length` and sees (length - window, length]; later ones see no further back.
void SequenceState::Impl::drop_unseen() noexcept {
  Release release(*pool);
  for (size_t i = 0; i < tables.size(); ++i) {
    const PartSpec& part = pool->parts[i];
    if (part.kind != PartKind::window) continue;
    Table& t = tables[i];
    const auto keep = static_cast<size_t>(std::max<int64_t>(0, length - part.window + 1) / kPageTokens);
    for (size_t p = t.first_held; p < std::min(keep, t.pages.size()); ++p) {
      release.drop(t.pages[p]);
      t.set(p, nullptr);
    }
    t.first_held = std::max(t.first_held, std::min(keep, t.pages.size()));
  }
}

SequenceState::SequenceState(const StatePool& pool) : impl_(std::make_unique<Impl>(pool.impl())) {}
SequenceState::SequenceState(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SequenceState::SequenceState(SequenceState&&) noexcept = default;
SequenceState& SequenceState::operator=(SequenceState&&) noexcept = default;
SequenceState::~SequenceState() = default;

int64_t SequenceState::length() const { return impl_->length; }

void SequenceState::reserve(int64_t n) {
  Impl& s = *impl_;
  if (n < 0 || n > kMaxTokens - s.length)
    fail(Code::invalid_argument, "sequence state",
         format("cannot reserve {} tokens after {}; the most that a sequence holds is {}", n, s.length,
                kMaxTokens));
  const int64_t end = s.length + n;
  if (n > 0 && s.count_need(end)) {
    const LoanGuard guard{*s.pool, s.loan};
    try {
      s.pool->lend(s.need, s.loan);
      for (Table& t : s.tables) t.grow_capacity(pages_for(end));
    } catch (const std::bad_alloc&) {
      fail(Code::out_of_memory, "sequence state", format("no memory for a block table of {} tokens", end));
    }
    Release release(*s.pool);
    for (size_t i = 0; i < s.tables.size(); ++i) s.fill(i, pages_for(end), release);
  }
  s.reserved = n;
  s.drop_after(end);  // an earlier, larger reservation is replaced
}

void SequenceState::commit(int64_t n) {
  Impl& s = *impl_;
  if (n < 0 || n > s.reserved)
    fail(Code::invalid_argument, "sequence state",
         format("cannot commit {} tokens, {} are reserved", n, s.reserved));
  s.length += n;
  s.reserved = 0;
  s.drop_after(s.length);
  s.drop_unseen();
}

void SequenceState::truncate(int64_t n) {
  Impl& s = *impl_;
  if (n < 0 || n > s.length)
    fail(Code::invalid_argument, "sequence state", format("cannot truncate {} tokens to {}", s.length, n));
  for (size_t i = 0; i < s.tables.size(); ++i) {
    const PartSpec& part = s.pool->parts[i];
    if (part.kind != PartKind::window) continue;
    const int64_t seen_from =
        std::max<int64_t>(0, n - part.window + 1);  // by a query at n; itself not yet written
    const int64_t held_from = static_cast<int64_t>(s.tables[i].first_held) * kPageTokens;
    if (seen_from < n && seen_from < held_from)
      fail(Code::invalid_argument, format("state part {}", i),
           format("a window of {} tokens at length {} holds positions from {} on; truncating to {} needs "
                  "those from {}",
                  part.window, s.length, held_from, n, seen_from),
           "start again from an empty sequence or an earlier fork");
  }
  s.length = n;
  s.reserved = 0;
  s.drop_after(n);
}

SequenceState SequenceState::fork() const {
  auto copy = std::make_unique<Impl>(impl_->pool);
  for (size_t i = 0; i < copy->tables.size(); ++i) {
    const Table& from = impl_->tables[i];
    const size_t n =
        std::min(from.pages.size(), pages_for(impl_->length));  // what is only reserved stays behind
    Table& to = copy->tables[i];
    to.grow_capacity(n);
    to.resize(n);
    to.first_held = std::min(from.first_held, n);
    for (size_t p = 0; p < n; ++p) {
      if (!from.pages[p]) continue;
      from.pages[p]->refs.fetch_add(1, std::memory_order_relaxed);  // cannot be zero: `this` holds one
      to.set(p, from.pages[p]);
    }
  }
  copy->length = impl_->length;
  return SequenceState(std::move(copy));
}

std::span<std::byte* const> SequenceState::pages(size_t part) const {
  const size_t n = impl_->tables.size();
  if (part >= n) fail(Code::invalid_argument, "sequence state", format("part {} of {}", part, n));
  return impl_->tables[part].data;
}

}  // namespace ingle::kv
