#include "constrain/chart.h"

#include <algorithm>

#include "core/error.h"

namespace ingle::constrain {
namespace {

constexpr int32_t kEnd = -1;      // a state: the rule has ended
constexpr int32_t kPending = -3;  // an index: of a local that was not interned yet
constexpr size_t kMostItems = 50'000, kMostGroups = 50'000;

size_t at(int32_t i) { return static_cast<size_t>(i); }

size_t mix(size_t h, size_t x) {
  h ^= x + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
  return h * 0xBF58476D1CE4E5B9u;
}
size_t hash_of(const Chart::Item& i) {
  return mix(
      mix(static_cast<size_t>(static_cast<uint32_t>(i.state)), reinterpret_cast<size_t>(i.stack.group)),
      static_cast<size_t>(static_cast<uint32_t>(i.stack.index)));
}
bool before(const Chart::Item& a, const Chart::Item& b) {
  if (a.state != b.state) return a.state < b.state;
  if (a.stack.group != b.stack.group) return std::less<>()(a.stack.group, b.stack.group);
  return a.stack.index < b.stack.index;
}
void sort_unique(std::vector<Chart::Item>& items) {
  std::sort(items.begin(), items.end(), before);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

bool is_local(const Chart::Stack& s) { return !s.group && s.index >= 0; }

}  // namespace

// A text may nest deeply; what hangs below goes one by one, not by recursion.
Chart::Group::~Group() {
  std::vector<GroupPtr> open = std::move(below);
  while (!open.empty()) {
    const GroupPtr last = std::move(open.back());
    open.pop_back();
    if (last.use_count() != 1) continue;
    auto& own = const_cast<Group&>(*last).below;
    std::move(own.begin(), own.end(), std::back_inserter(open));
    own.clear();
  }
}

Chart::Chart(Network network, std::string where)
    : network_(std::move(network)), where_(std::move(where)), local_of_rule_(network_.starts.size(), -1) {}

Chart::PositionPtr Chart::start() {
  const std::lock_guard lock(mutex_);
  begin();
  push(network_.start(), {});
  return finish();
}

Chart::PositionPtr Chart::at_state(int32_t state) {
  const std::lock_guard lock(mutex_);
  begin();
  push(state, {nullptr, kUnknown});
  return finish();
}

Chart::PositionPtr Chart::after(const Stack& stack) {
  const std::lock_guard lock(mutex_);
  begin();
  push(kEnd, stack);
  return finish();
}

Chart::PositionPtr Chart::advance(const Position& from, uint8_t byte) {
  const std::lock_guard lock(mutex_);
  begin();
  for (const Item& item : from.items)
    for (const Network::Edge& e : network_.edges(item.state))
      if (byte >= e.low && byte <= e.high) push(e.to, item.stack);
  return work_.empty() ? nullptr : finish();
}

void Chart::begin() {
  if (work_.size() * 8 > table_.size())
    std::fill(table_.begin(), table_.end(), 0);
  else
    for (const Item& item : work_)
      for (size_t slot = hash_of(item) & (table_.size() - 1); table_[slot] != 0;
           slot = (slot + 1) & (table_.size() - 1))
        table_[slot] = 0;
  work_.clear();
  for (const Local& l : locals_) local_of_rule_[at(l.rule)] = -1;
  locals_.clear();
  whole_ = left_ = false;
  // Places that are held keep what is below them; what is made from now on is equal to itself alone.
  if (groups_.size() > kMostGroups) groups_.clear();
  if (table_.empty()) table_.resize(64);
}

void Chart::grow_table() {
  table_.assign(table_.size() * 4, 0);
  for (size_t i = 0; i < work_.size(); ++i) {
    size_t slot = hash_of(work_[i]) & (table_.size() - 1);
    while (table_[slot] != 0) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = static_cast<uint32_t>(i) + 1;
  }
}

void Chart::push(int32_t state, const Stack& stack) {
  const Item item{state, stack};
  size_t slot = hash_of(item) & (table_.size() - 1);
  for (; table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1))
    if (work_[table_[slot] - 1] == item) return;
  if (work_.size() >= kMostItems)
    fail(Code::unsupported, where_, format("more than {} readings of the text at once", kMostItems));
  work_.push_back(item);
  table_[slot] = static_cast<uint32_t>(work_.size());
  if (work_.size() * 2 > table_.size()) grow_table();
}

void Chart::process(const Item& item) {
  const auto [state, stack] = item;
  if (state == kEnd) return end(stack);
  if (network_.final(state)) push(kEnd, stack);
  for (const int32_t to : network_.free(state)) push(to, stack);
  for (const Network::Call& c : network_.calls(state)) {
    if (network_.tail(c.to))  // the caller ends where the called rule ends
      push(network_.starts[at(c.rule)], stack);
    else
      call(c.rule, c.to, stack);
  }
}

void Chart::call(int32_t rule, int32_t to, const Stack& stack) {
  int32_t& local = local_of_rule_[at(rule)];
  if (local < 0) {
    local = static_cast<int32_t>(locals_.size());
    locals_.push_back({rule, {}, false});
    push(network_.starts[at(rule)], {nullptr, local});
  }
  Local& l = locals_[at(local)];
  l.follows.push_back({to, stack});
  if (l.ended) push(to, stack);  // it has an empty text
}

void Chart::end(const Stack& stack) {
  if (is_local(stack)) {
    Local& l = locals_[at(stack.index)];
    l.ended = true;
    // push() does not touch `follows`.
    for (const Item& next : l.follows) push(next.state, next.stack);
  } else if (!stack.group) {
    (stack.index == kText ? whole_ : left_) = true;
  } else {
    for (const Item& next : stack.group->entries[at(stack.index)])
      push(next.state, is_local(next.stack) ? Stack{stack.group, next.stack.index} : next.stack);
  }
}

Chart::PositionPtr Chart::finish() {
  for (size_t i = 0; i < work_.size(); ++i) process(Item(work_[i]));
  auto out = std::make_shared<Position>();
  out->whole = whole_;
  out->left = left_;
  for (const Item& item : work_)
    if (item.state != kEnd && !network_.edges(item.state).empty()) out->items.push_back(item);
  intern_locals(live_locals(out->items));
  for (Item& item : out->items)
    if (is_local(item.stack)) item.stack = interned_[at(item.stack.index)];
  sort_unique(out->items);
  out->hash = whole_ * 2u + left_;
  const Group* last = nullptr;
  for (const Item& item : out->items) {
    out->hash = mix(out->hash, hash_of(item));
    const Group* group = item.stack.group;
    if (!group || group == last) continue;
    last = group;
    const auto same = [&](const GroupPtr& g) { return g.get() == group; };
    if (std::none_of(out->below.begin(), out->below.end(), same))
      out->below.push_back(group->shared_from_this());
  }
  return out;
}

// Those that what is kept refers to, in the order of their making.
std::vector<int32_t> Chart::live_locals(const std::vector<Item>& kept) const {
  std::vector<char> live(locals_.size());
  std::vector<int32_t> open;
  const auto reach = [&](const Stack& s) {
    if (!is_local(s) || live[at(s.index)]) return;
    live[at(s.index)] = 1;
    open.push_back(s.index);
  };
  for (const Item& item : kept) reach(item.stack);
  for (size_t i = 0; i < open.size(); ++i)
    for (const Item& next : locals_[at(open[i])].follows) reach(next.stack);
  std::sort(open.begin(), open.end());
  return open;
}

// `own`: the number of each local in the group that is being made, -1: in none.
Chart::Stack Chart::resolved(const Stack& stack, const std::vector<int32_t>& own) const {
  if (!is_local(stack)) return stack;
  const int32_t number = own.empty() ? -1 : own[at(stack.index)];
  return number >= 0 ? Stack{nullptr, number} : interned_[at(stack.index)];
}

void Chart::intern_locals(const std::vector<int32_t>& live) {
  if (live.empty()) return;
  interned_.assign(locals_.size(), {nullptr, kPending});
  const auto pending = [&](const Stack& s) {
    return is_local(s) && interned_[at(s.index)] == Stack{nullptr, kPending};
  };
  // First those that rest on what is interned already; what is left then goes round in circles.
  std::vector<int32_t> waits(locals_.size()), ready;
  std::vector<std::vector<int32_t>> above(locals_.size());
  for (const int32_t l : live) {
    for (const Item& next : locals_[at(l)].follows)
      if (is_local(next.stack)) {
        ++waits[at(l)];
        above[at(next.stack.index)].push_back(l);
      }
    if (waits[at(l)] == 0) ready.push_back(l);
  }
  const auto entry = [&](int32_t l, const std::vector<int32_t>& own) {
    std::vector<Item> out = locals_[at(l)].follows;
    for (Item& next : out) next.stack = resolved(next.stack, own);
    sort_unique(out);
    return out;
  };
  for (size_t i = 0; i < ready.size(); ++i) {
    const int32_t l = ready[i];
    interned_[at(l)] = {intern({entry(l, {})}).get(), 0};
    for (const int32_t a : above[at(l)])
      if (--waits[at(a)] == 0) ready.push_back(a);
  }
  std::vector<int32_t> own(locals_.size(), -1), circle;
  for (const int32_t l : live)
    if (pending({nullptr, l})) {
      own[at(l)] = static_cast<int32_t>(circle.size());
      circle.push_back(l);
    }
  if (circle.empty()) return;
  std::vector<std::vector<Item>> entries;
  entries.reserve(circle.size());
  for (const int32_t l : circle) entries.push_back(entry(l, own));
  const Group* group = intern(std::move(entries)).get();
  for (const int32_t l : circle) interned_[at(l)] = {group, own[at(l)]};
}

Chart::GroupPtr Chart::intern(std::vector<std::vector<Item>> entries) {
  auto group = std::make_shared<Group>();
  for (const auto& entry : entries)
    for (const Item& item : entry) group->hash = mix(group->hash, hash_of(item));
  group->entries = std::move(entries);
  const auto found = groups_.find(group);
  if (found != groups_.end()) return *found;
  for (const auto& entry : group->entries)
    for (const Item& item : entry)
      if (item.stack.group) {
        const auto same = [&](const GroupPtr& g) { return g.get() == item.stack.group; };
        if (std::none_of(group->below.begin(), group->below.end(), same))
          group->below.push_back(item.stack.group->shared_from_this());
      }
  groups_.insert(group);
  return group;
}

}  // namespace ingle::constrain
