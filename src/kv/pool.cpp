#include "kv/pool.h"

#include <new>

#include "core/checked_math.h"
#include "core/error.h"

namespace ingle::kv {
namespace {

// Far above any model, and low enough that no product below can overflow once the page has passed.
constexpr uint64_t kMaxPageBytes = uint64_t{1} << 40;

void check_part(const PartSpec& p, size_t index) {
  const auto where = [&] { return format("state part {}", index); };
  if (p.kind > PartKind::tail)
    fail(Code::invalid_argument, where(), format("unknown kind {}", static_cast<int>(p.kind)));
  if (p.type > StateType::q4)
    fail(Code::invalid_argument, where(), format("unknown element type {}", static_cast<int>(p.type)));
  const bool windowed = p.kind == PartKind::window;
  if (windowed ? p.window < 1 : p.window != 0)
    fail(Code::invalid_argument, where(),
         format("a window of {} tokens, expected {}", p.window,
                windowed ? "at least 1" : "0 where there is no window"));
  const bool recurrent = p.kind == PartKind::recurrent;
  if (recurrent && p.type != StateType::f32)
    fail(Code::invalid_argument, where(), "a recurrent state is kept in f32 alone");

  const bool tail = p.kind == PartKind::tail;
  if (tail && (p.type != StateType::f16 || p.dv != 0))
    fail(Code::invalid_argument, where(), "a tail has keys alone, in f16");
  uint64_t bytes = recurrent ? 4 : 4 * kPageTokens;
  for (const int64_t factor : {p.n_layers, p.n_kv_heads, p.dk, tail ? 1 : p.dv}) {
    if (factor < 1)
      fail(Code::invalid_argument, where(),
           format("{} layers, {} heads, key width {}, value width {}; each must be at least 1", p.n_layers,
                  p.n_kv_heads, p.dk, p.dv));
  }
  for (const uint64_t factor :
       {static_cast<uint64_t>(p.n_layers), static_cast<uint64_t>(p.n_kv_heads),
        (recurrent ? checked_mul(p.dk, p.dv) : checked_add(p.dk, p.dv)).value_or(UINT64_MAX)}) {
    const auto product = checked_mul(bytes, factor);
    if (!product || *product > kMaxPageBytes)
      fail(Code::invalid_argument, where(),
           format("{} layers × {} heads × ({} {} {}) make a page of more than {} bytes", p.n_layers,
                  p.n_kv_heads, p.dk, recurrent ? "×" : "+", p.dv, kMaxPageBytes));
    bytes = *product;
  }
}

}  // namespace

StatePool::Impl::Impl(const Allocator& user_allocator, std::vector<PartSpec> specs, uint64_t budget)
    : allocator(user_allocator), parts(std::move(specs)), budget_bytes(budget), free(parts.size()) {
  for (size_t i = 0; i < parts.size(); ++i) check_part(parts[i], i);
}

StatePool::Impl::~Impl() {
  // Every sequence holds the pool, so all pages are back by now.
  for (PageList& list : free)
    while (!list.empty()) delete list.pop();
}

void StatePool::Impl::lend(std::span<const uint64_t> need, std::span<PageList> out) {
  const uint64_t bytes = bytes_of(need);
  for (;;) {
    uint64_t missing = 0, lent = 0;
    {
      const std::lock_guard lock(mutex);
      missing = shortage(bytes);
      lent = lent_bytes;
      if (missing == 0) {
        for (size_t i = 0; i < need.size(); ++i)
          for (uint64_t n = 0; n < need[i]; ++n) out[i].push(take_page(i));
        return;
      }
    }
    if (bytes <= budget_bytes && give_back(missing)) continue;
    fail(Code::out_of_memory, "state pool",
         format("{} more bytes of pages are wanted, and {} of the budget's {} bytes are lent", bytes, lent,
                budget_bytes),
         "end or shorten other sequences, or raise the state budget");
  }
}

bool StatePool::Impl::give_back(uint64_t bytes) {
  const std::lock_guard lock(reclaim_mutex);
  return reclaim && reclaim(bytes);
}

void StatePool::Impl::take_back(PageList& list) noexcept {
  const std::lock_guard lock(mutex);
  while (!list.empty()) return_page(list.pop());
}

uint64_t StatePool::Impl::bytes_of(std::span<const uint64_t> need) const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < need.size(); ++i) {
    const auto part_bytes = checked_mul(need[i], page_bytes(i));
    const auto sum = part_bytes ? checked_add(bytes, *part_bytes) : std::nullopt;
    if (!sum) return UINT64_MAX;
    bytes = *sum;
  }
  return bytes;
}

// Runs with the sum already checked against the budget, so dropping free pages always makes enough room.
Page* StatePool::Impl::take_page(size_t part) {
  Page* page = nullptr;
  if (!free[part].empty()) {
    page = free[part].pop();
  } else {
    const uint64_t bytes = page_bytes(part);
    make_room(bytes);
    page = new Page(allocator, bytes, part);
    held_bytes += bytes;
  }
  page->refs.store(1, std::memory_order_relaxed);
  lent_bytes += page->memory.size();
  return page;
}

void StatePool::Impl::make_room(uint64_t bytes) {
  for (PageList& list : free) {
    while (!list.empty() && bytes > budget_bytes - held_bytes) {
      Page* page = list.pop();
      held_bytes -= page->memory.size();
      delete page;
    }
  }
}

void StatePool::Impl::return_page(Page* page) noexcept {
  page->refs.store(0, std::memory_order_relaxed);
  lent_bytes -= page->memory.size();
  free[page->part].push(page);
}

StatePool::StatePool(const Allocator& allocator, std::vector<PartSpec> parts, uint64_t budget_bytes)
    : impl_(std::make_shared<Impl>(allocator, std::move(parts), budget_bytes)) {}
StatePool::~StatePool() = default;
std::span<const PartSpec> StatePool::parts() const { return impl_->parts; }
uint64_t StatePool::budget_bytes() const { return impl_->budget_bytes; }
void StatePool::set_reclaim(std::function<bool(uint64_t bytes)> reclaim) {
  impl_->set_reclaim(std::move(reclaim));
}
uint64_t StatePool::bytes_in_use() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->lent_bytes;
}

}  // namespace ingle::kv
