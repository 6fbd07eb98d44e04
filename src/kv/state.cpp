#include "kv/state.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.h"
#include "kv/state_impl.h"

namespace ingle::kv {
namespace {

// Acquire: when the other owners have let go, what they did to the page happened before what we do to it.
bool is_shared(const Page* page) { return page->refs.load(std::memory_order_acquire) > 1; }

// Rows [n][32]: of each the first `used` entries, and zeros.
void copy_rows(const std::byte*& src, std::byte*& dst, int64_t n, int64_t entry, int64_t used) {
  const auto row = static_cast<size_t>(kPageTokens * entry), kept = static_cast<size_t>(used * entry);
  for (int64_t i = 0; i < n; ++i, src += row, dst += row) {
    std::memcpy(dst, src, kept);
    std::memset(dst + kept, 0, row - kept);
  }
}

}  // namespace

void copy_positions(const PartSpec& part, const std::byte* src, std::byte* dst, int64_t used) {
  if (part.type == StateType::q4) {
    for (const std::byte* end = src + part.page_bytes(); src != end;) {
      // A page's keys are made together.
      const auto keys = static_cast<size_t>(part.v_offset(0, 0));
      if (used < kPageTokens)
        std::memset(dst, 0, keys);
      else
        std::memcpy(dst, src, keys);
      src += keys;
      dst += keys;
      copy_rows(src, dst, 1, q4_row_bytes(part.dv), used);
      copy_rows(src, dst, 1, 2, used);
    }
    return;
  }
  const bool scaled = part.type == StateType::q8;
  const int64_t element = part.type == StateType::f32 ? 4 : scaled ? 1 : 2;
  for (const std::byte* end = src + part.page_bytes(); src != end;) {
    copy_rows(src, dst, part.dk, element, used);  // K [dk][32]
    if (scaled) copy_rows(src, dst, 1, 2, used);
    copy_rows(src, dst, 1, part.dv * element, used);  // V [32][dv]
    if (scaled) copy_rows(src, dst, 1, 2, used);
  }
}

SequenceState::Impl::~Impl() {
  Release release(*pool);
  for (Table& t : tables)
    for (Page* page : t.pages) release.drop(page);
  for (SnapshotTable& t : snapshots) t.truncate(-1, release);
}

// Snapshots at the end, and on the way those that will be kept, or each when each may be committed.
void SequenceState::Impl::list_due(int64_t end, Commits commits, bool on_the_way) {
  due.clear();
  if (!has_recurrent || end == length) return;
  const int64_t step = commits == Commits::each ? 1 : kept_interval(end);
  if (on_the_way)
    for (int64_t p = (length / step + 1) * step; p < end; p += step) due.push_back(p);
  due.push_back(end);
}

// How many pages each part lacks to write [length, end). False when none.
bool SequenceState::Impl::count_need(int64_t end) {
  bool any = false;
  const size_t first = static_cast<size_t>(length / kPageTokens), n = pages_for(end);
  for (size_t i = 0; i < tables.size(); ++i) {
    if (is_recurrent(i)) {
      need[i] = due.size();
      any |= need[i] != 0;
      continue;
    }
    const auto& pages = tables[i].pages;
    need[i] = n - std::min(n, std::max(first, pages.size()));
    for (size_t p = first; p < std::min(n, pages.size()); ++p)
      if (!pages[p] || is_shared(pages[p])) ++need[i];
    any |= need[i] != 0;
  }
  return any;
}

void SequenceState::Impl::lend(int64_t end) {
  pool->lend(need, loan);
  for (size_t i = 0; i < tables.size(); ++i) {
    if (is_recurrent(i))
      snapshots[i].grow_capacity(due.size());
    else
      tables[i].grow_capacity(pages_for(end));
  }
}

// Snapshots that are kept for truncate are a convenience; true when there were some.
bool SequenceState::Impl::drop_kept() noexcept {
  Release release(*pool);
  bool any = false;
  for (SnapshotTable& t : snapshots) {
    any |= t.has_kept();
    t.drop_kept(release);
  }
  return any;
}

void SequenceState::Impl::drop_due() noexcept {
  Release release(*pool);
  for (SnapshotTable& t : snapshots) t.drop_due(release);
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
      copy_positions(pool->parts[part], old->memory.data(), page->memory.data(), used);
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
    if (!slides(part)) continue;
    Table& t = tables[i];
    const size_t keep = first_kept(part, length);
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

void SequenceState::reserve(int64_t n, Commits commits) {
  Impl& s = *impl_;
  if (n < 0 || n > kMaxTokens - s.length)
    fail(Code::invalid_argument, "sequence state",
         format("cannot reserve {} tokens after {}; the most that a sequence holds is {}", n, s.length,
                kMaxTokens));
  const int64_t end = s.length + n;
  try {
    s.list_due(end, commits, true);
    if (n > 0 && s.count_need(end)) {
      const LoanGuard guard{*s.pool, s.loan};
      try {
        s.lend(end);
      } catch (const Error& e) {
        if (e.code() != Code::out_of_memory || !s.has_recurrent) throw;
        // Once more without what is only convenient: kept snapshots, and those on the way.
        const bool dropped = s.drop_kept(), fewer = commits == Commits::whole && s.due.size() > 1;
        if (!dropped && !fewer) throw;
        { const LoanGuard partial{*s.pool, s.loan}; }
        s.list_due(end, commits, commits == Commits::each);
        s.count_need(end);
        s.lend(end);
      }
      Release release(*s.pool);
      for (size_t i = 0; i < s.tables.size(); ++i) {
        if (s.is_recurrent(i))
          s.snapshots[i].set_due(s.due, s.loan[i], release);
        else
          s.fill(i, pages_for(end), release);
      }
    }
  } catch (const std::bad_alloc&) {
    fail(Code::out_of_memory, "sequence state", format("no memory for a block table of {} tokens", end));
  }
  if (n == 0) s.drop_due();
  s.reserved = n;
  s.drop_after(end);  // an earlier, larger reservation is replaced
}

void SequenceState::commit(int64_t n) {
  Impl& s = *impl_;
  if (n < 0 || n > s.reserved)
    fail(Code::invalid_argument, "sequence state",
         format("cannot commit {} tokens, {} are reserved", n, s.reserved));
  const int64_t end = s.length + n;
  for (size_t i = 0; i < s.tables.size(); ++i)
    if (n > 0 && s.is_recurrent(i) && !s.snapshots[i].is_due(end))
      fail(Code::invalid_argument, format("state part {}", i),
           format("cannot commit {} of {} reserved tokens: the state after them was not kept", n, s.reserved),
           "reserve with Commits::each");
  Release release(*s.pool);
  for (size_t i = 0; i < s.tables.size(); ++i) {
    if (!s.is_recurrent(i)) continue;
    if (n == 0)
      s.snapshots[i].drop_due(release);
    else
      s.snapshots[i].commit(end, release);
  }
  s.length = end;
  s.reserved = 0;
  s.drop_after(s.length);
  s.drop_unseen();
}

int64_t SequenceState::Impl::last_at_most(int64_t n) const {
  for (int64_t before = -1; before != n;) {
    before = n;
    for (size_t i = 0; i < tables.size(); ++i) {
      const PartSpec& part = pool->parts[i];
      if (is_recurrent(i)) n = snapshots[i].last_at_most(n);
      if (part.kind == PartKind::tail && n < length && first_seen(part, n) < tables[i].first_held)
        n = n / kPageTokens * kPageTokens;
    }
  }
  return n;
}

int64_t SequenceState::truncate(int64_t wanted) {
  Impl& s = *impl_;
  if (wanted < 0 || wanted > s.length)
    fail(Code::invalid_argument, "sequence state",
         format("cannot truncate {} tokens to {}", s.length, wanted));
  const int64_t n = s.last_at_most(wanted);
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
  Release release(*s.pool);
  for (SnapshotTable& t : s.snapshots) t.truncate(n, release);
  return n;
}

void SequenceState::mark() noexcept {
  for (SnapshotTable& t : impl_->snapshots) t.mark();
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
  for (size_t i = 0; i < copy->snapshots.size(); ++i) copy->snapshots[i].share(impl_->snapshots[i]);
  copy->length = impl_->length;
  return SequenceState(std::move(copy));
}

std::span<std::byte* const> SequenceState::pages(size_t part) const {
  const size_t n = impl_->tables.size();
  if (part >= n) fail(Code::invalid_argument, "sequence state", format("part {} of {}", part, n));
  return impl_->tables[part].data;
}

RecurrentStep SequenceState::recurrent(size_t part) const {
  const size_t n = impl_->tables.size();
  if (part >= n || !impl_->is_recurrent(part))
    fail(Code::invalid_argument, "sequence state", format("part {} of {} is not a recurrent one", part, n));
  return {impl_->snapshots[part].current(), impl_->snapshots[part].due()};
}

}  // namespace ingle::kv
