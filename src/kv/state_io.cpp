#include "kv/state_io.h"

#include <cstring>

#include "core/error.h"
#include "kv/state_impl.h"

namespace ingle::kv {
namespace {

constexpr uint32_t kParts = record_tag("PART"), kPage = record_tag("PAGE"), kSnapshot = record_tag("SNAP");
constexpr size_t kPartBytes = 48;
constexpr size_t kMostSnapshots = 64;

void add_part(FieldWriter& out, const PartSpec& p) {
  out.add(static_cast<uint32_t>(p.kind)).add(static_cast<uint32_t>(p.type));
  out.add(p.n_layers).add(p.n_kv_heads).add(p.dk).add(p.dv).add(p.window);
}

PartSpec get_part(FieldReader& in) {
  PartSpec p;
  const auto kind = in.get<uint32_t>(), type = in.get<uint32_t>();
  p.kind = static_cast<PartKind>(std::min<uint32_t>(kind, 0xFF));
  p.type = static_cast<StateType>(std::min<uint32_t>(type, 0xFF));
  p.n_layers = in.get<int64_t>();
  p.n_kv_heads = in.get<int64_t>();
  p.dk = in.get<int64_t>();
  p.dv = in.get<int64_t>();
  p.window = in.get<int64_t>();
  return p;
}

// What truncate could want back, and the current one.
std::vector<SnapshotTable::Held> saved_snapshots(const SnapshotTable& table) {
  std::vector<SnapshotTable::Held> out;
  const auto held = table.held();
  for (size_t i = 0; i < held.size(); ++i)
    if (held[i].marked || i + 1 == held.size()) out.push_back(held[i]);
  return out;
}

void write_page(const PartSpec& part, const std::byte* page, int64_t used, const Allocator& allocator,
                RecordWriter& out) {
  const auto n = static_cast<size_t>(part.page_bytes());
  if (page && used >= kPageTokens) return out.write(kPage, {page, n});
  const Buffer counted(allocator, n);
  if (page)
    copy_positions(part, page, counted.data(), used);
  else  // a window of one token, which no earlier one of the page is in
    std::memset(counted.data(), 0, n);
  out.write(kPage, {counted.data(), n});
}

class Reader {
 public:
  Reader(const StatePool& pool, RecordReader& in)
      : in_(in), state_(std::make_unique<SequenceState::Impl>(pool.impl())) {}

  SequenceState read() {
    read_parts();
    for (size_t i = 0; i < state_->tables.size(); ++i) {
      if (state_->is_recurrent(i))
        read_snapshots(i);
      else
        read_pages(i);
    }
    return SequenceState(std::move(state_));
  }

 private:
  void read_parts() {
    const auto& parts = state_->pool->parts;
    const std::vector<std::byte> bytes =
        in_.read_up_to(kParts, 16 + parts.size() * kPartBytes + 8 + kMostSnapshots * 16);
    FieldReader f(bytes);
    const auto n_parts = f.get<uint64_t>();
    if (n_parts != parts.size())
      fail(Code::unsupported, in_.name(),
           format("holds a state of {} parts, and the model's has {}", n_parts, parts.size()));
    for (size_t i = 0; i < parts.size(); ++i)
      if (const PartSpec found = get_part(f); !(found == parts[i]))
        fail(Code::unsupported, format("{}, state part {}", in_.name(), i),
             format("is a {}, and the model's is a {}", describe(found), describe(parts[i])),
             "load it with the model and the state_type that it was saved with");
    state_->length = f.get<int64_t>();
    const auto n_snapshots = f.get<uint64_t>();
    if (!f.ok() || state_->length < 0 || state_->length > kMaxTokens || n_snapshots > kMostSnapshots)
      in_.refuse(kParts, format("{} tokens and {} snapshots, of which it can hold {} and {}", state_->length,
                                n_snapshots, kMaxTokens, kMostSnapshots));
    read_positions(f, n_snapshots);
  }

  void read_positions(FieldReader& f, uint64_t n) {
    int64_t last = 0;
    bool fits = true;
    for (uint64_t i = 0; i < n; ++i) {
      const auto position = f.get<int64_t>(), marked = f.get<int64_t>();
      fits &= position > last && (marked == 0 || marked == 1);
      snapshots_.push_back({position, nullptr, marked == 1});
      last = position;
    }
    if (!f.at_end() || !fits || (state_->has_recurrent ? last != state_->length : n != 0))
      in_.refuse(kParts, "its snapshots are not at ascending positions up to the state's length");
  }

  Page* lend(size_t part) {
    std::fill(state_->need.begin(), state_->need.end(), 0);
    state_->need[part] = 1;
    const LoanGuard guard{*state_->pool, state_->loan};
    state_->pool->lend(state_->need, state_->loan);
    return state_->loan[part].pop();
  }

  void fill(Page* page, uint32_t tag) { in_.read(tag, {page->memory.data(), page->memory.size()}); }

  // The table owns each page before it is filled.
  void read_pages(size_t part) {
    const PartSpec& spec = state_->pool->parts[part];
    Table& t = state_->tables[part];
    const size_t n = pages_for(state_->length);
    t.first_held = std::min(first_seen(spec, state_->length), n);
    for (size_t p = t.first_held; p < n; ++p) {
      t.grow_capacity(p + 1);
      t.pages.resize(p + 1, nullptr);
      t.data.resize(p + 1, nullptr);
      t.set(p, lend(part));
      fill(t.pages[p], kPage);
    }
    t.pages.resize(n, nullptr);
    t.data.resize(n, nullptr);
  }

  void read_snapshots(size_t part) {
    state_->snapshots[part].reserve(snapshots_.size());
    for (SnapshotTable::Held held : snapshots_) {
      held.page = lend(part);
      state_->snapshots[part].add(held);
      fill(held.page, kSnapshot);
    }
  }

  RecordReader& in_;
  std::unique_ptr<SequenceState::Impl> state_;
  std::vector<SnapshotTable::Held> snapshots_;  // without pages
};

}  // namespace

std::string describe(const PartSpec& p) {
  const std::string shape = format("{}, {} layers × {} heads × ({} {} {})", name_of(p.type), p.n_layers,
                                   p.n_kv_heads, p.dk, p.kind == PartKind::recurrent ? "×" : "+", p.dv);
  if (p.kind == PartKind::window) return format("window of {}, {}", p.window, shape);
  if (p.kind == PartKind::tail) return "keys of the last page, " + shape;
  return (p.kind == PartKind::recurrent ? "recurrent state, " : "full attention, ") + shape;
}

void write_state(const SequenceState& state, RecordWriter& out) {
  const SequenceState::Impl& s = state.impl();
  const auto& parts = s.pool->parts;
  std::vector<SnapshotTable::Held> snapshots;
  for (size_t i = 0; i < parts.size(); ++i)
    if (s.is_recurrent(i)) snapshots = saved_snapshots(s.snapshots[i]);  // all have the same positions
  FieldWriter fields;
  fields.add(uint64_t{parts.size()});
  for (const PartSpec& p : parts) add_part(fields, p);
  fields.add(s.length).add(uint64_t{snapshots.size()});
  for (const auto& held : snapshots) fields.add(held.position).add(int64_t{held.marked});
  out.write(kParts, fields.bytes());

  for (size_t i = 0; i < parts.size(); ++i) {
    if (s.is_recurrent(i)) {
      for (const auto& held : saved_snapshots(s.snapshots[i]))
        out.write(kSnapshot, {held.page->memory.data(), held.page->memory.size()});
      continue;
    }
    const size_t n = pages_for(s.length);
    for (size_t p = first_seen(parts[i], s.length); p < n; ++p) {
      const int64_t used = s.length - static_cast<int64_t>(p) * kPageTokens;
      write_page(parts[i], s.tables[i].data[p], used, s.pool->allocator, out);
    }
  }
}

SequenceState read_state(const StatePool& pool, RecordReader& in) { return Reader(pool, in).read(); }

}  // namespace ingle::kv
