// How one step is planned. Reads the tables, writes the plan and scratch.
#include <algorithm>
#include <cmath>

#include "engine/scheduler_tables.h"

namespace ingle::engine {
namespace {

// While nobody waits for his next token a step may take so many targets: longer steps compute a prompt
// faster, and who comes meanwhile waits for the end of one.
constexpr double kUnhurried = 8;

}  // namespace

const Plan& Scheduler::plan(double now, double target) {
  Tables& t = *t_;
  const bool bounded = target > 0;
  t.make_plan(now, bounded ? std::min(target, t.options.target) : t.options.target, bounded, paused_);
  return t.plan;
}

void Scheduler::Tables::make_plan(double now, double target, bool bounded, bool paused) {
  ++plan_number;
  plan.slices.clear();
  plan.expired.clear();
  plan.preempted.clear();
  plan.hopeless.clear();
  plan.admitted.clear();
  plan.load = {};
  plan.expected = 0;
  decodes = 0;
  if (now >= earliest_deadline) expire(now);
  if (paused) return;
  begin_accounts();
  displace();
  fit_decodes();
  plan_decodes();
  plan_prefills(target, bounded);
  if (plan.slices.empty()) break_deadlock();
  if (options.seed) shuffle_slices();
  if (model.ready() && plan.load.tokens > 0) plan.expected = model.predict(plan.load);
}

void Scheduler::Tables::expire(double now) {
  double next = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].phase == RequestPhase::none) continue;
    if (rows[i].deadline <= now) {
      plan.expired.push_back(static_cast<Slot>(i));
      gone[i] = plan_number;
    } else {
      next = std::min(next, rows[i].deadline);
    }
  }
  if (plan.expired.empty()) earliest_deadline = next;
}

// What the running requests hold and are expected to hold, before anything of this plan.
void Scheduler::Tables::begin_accounts() {
  alive = 0;
  used = expected = 0;
  prefilling.clear();
  prefills_in_band.fill(0);
  promoted = -1;
  for (const Slot s : running) {
    if (is_gone(s)) continue;
    const RequestRow& r = rows[static_cast<size_t>(s)];
    ++alive;
    if (limited) {
      // One that decodes takes its next token's room for certain.
      used += held_bytes(r.left() == 1 ? r.known : r.computed);
      expected += expected_bytes(r);
    }
    if (r.left() == 1) continue;
    prefilling.push_back(s);
    ++prefills_in_band[static_cast<size_t>(r.band)];
  }
  for (int32_t b = kBands - 1; b > 0; --b)
    if (credit[static_cast<size_t>(b)] >= static_cast<double>(options.chunk)) promoted = b;
}

// A request that cannot begin for want of a place takes that of one in a lower band.
void Scheduler::Tables::displace() {
  if (n_waiting == 0) return;
  const Slot next = best_waiting();
  if (next == kNoSlot || can_admit(rows[static_cast<size_t>(next)])) return;
  const Slot v = victim();
  if (v != kNoSlot && effective_band(rows[static_cast<size_t>(v)].band) >
                          effective_band(rows[static_cast<size_t>(next)].band))
    drop(v, plan.preempted);
}

// Room for the next token of each that decodes.
void Scheduler::Tables::fit_decodes() {
  while (used > options.budget_bytes && evict()) {
  }
}

// The victim waits and is computed again; the last one that is left does not fit at all. False: nobody left.
bool Scheduler::Tables::evict() {
  const Slot v = victim();
  if (v == kNoSlot) return false;
  drop(v, alive == 1 ? plan.hopeless : plan.preempted);
  return true;
}

void Scheduler::Tables::drop(Slot slot, std::vector<Slot>& list) {
  const RequestRow& r = rows[static_cast<size_t>(slot)];
  list.push_back(slot);
  gone[static_cast<size_t>(slot)] = plan_number;
  --alive;
  if (!limited) return;
  used -= held_bytes(r.left() == 1 ? r.known : r.computed);
  expected -= expected_bytes(r);
}

// Of the lowest band, the most over-served tenant, the latest arrival.
Slot Scheduler::Tables::victim() const {
  Slot worst = kNoSlot;
  for (const Slot s : running) {
    if (is_gone(s)) continue;
    if (worst == kNoSlot) {
      worst = s;
      continue;
    }
    const RequestRow &a = rows[static_cast<size_t>(s)], &b = rows[static_cast<size_t>(worst)];
    const double level_a = level(a.tenant), level_b = level(b.tenant);
    const int32_t band_a = effective_band(a.band), band_b = effective_band(b.band);
    if (band_a != band_b ? band_a > band_b : (level_a != level_b ? level_a > level_b : a.arrival > b.arrival))
      worst = s;
  }
  return worst;
}

void Scheduler::Tables::plan_decodes() {
  for (const Slot s : running) {
    const RequestRow& r = rows[static_cast<size_t>(s)];
    if (is_gone(s) || r.left() != 1) continue;
    plan.slices.push_back({s, 1, true});
    plan.load.add(r.computed, 1);
    ++decodes;
  }
}

void Scheduler::Tables::plan_prefills(double target, bool bounded) {
  const double most = decodes > 0 || bounded ? target : kUnhurried * target;
  double seconds = most - (decodes > 0 ? model.predict(plan.load) : model.base());
  int64_t rest = options.chunk, floor = options.min_chunk;
  // A step in which somebody lost his place begins nobody: else the two would change places for ever.
  bool admits = plan.preempted.empty() && plan.hopeless.empty();
  for (int32_t k = 0; k < options.prefills && rest > 0;) {
    Slot next = k == 0 ? starved() : kNoSlot;
    bool waits = false;
    if (next == kNoSlot) {
      next = best_running();
      const Slot other = admits ? best_waiting() : kNoSlot;
      if (other != kNoSlot && (next == kNoSlot || rank(other) < rank(next))) next = other, waits = true;
    }
    if (next == kNoSlot) return;
    const RequestRow& r = rows[static_cast<size_t>(next)];
    if (waits && !can_admit(r)) {
      admits = false;  // nor anybody behind it: a large request is not passed by small ones for ever
      continue;
    }
    picked[static_cast<size_t>(next)] = plan_number;
    ++k;
    int64_t n = prefill_tokens(r, rest, floor, seconds);
    if (limited) n = within_memory(r, n);
    if (n <= 0) {
      if (waits) picked[static_cast<size_t>(next)] = 0, admits = false;
      if (seconds <= 0 && floor <= 0) return;
      continue;
    }
    if (waits) {
      plan.admitted.push_back(next);
      ++alive;
      if (limited) expected += expected_bytes(r);
    }
    if (limited) used += held_bytes(r.computed + n) - held_bytes(r.computed);
    StepLoad before = plan.load;
    plan.slices.push_back({next, n, n == r.left()});
    plan.load.add(r.computed, n);
    seconds -= model.predict(plan.load) - model.predict(before);
    rest -= n;
    floor -= n;
    Extra& e = extra[static_cast<size_t>(r.tenant)];
    if (e.plan != plan_number) e = {plan_number, 0};
    e.tokens += kInputWeight * static_cast<double>(n);
  }
}

// How many of its tokens take part, by time and by what is left of the step.
int64_t Scheduler::Tables::prefill_tokens(const RequestRow& r, int64_t rest, int64_t floor,
                                          double seconds) const {
  const int64_t most = std::min(r.left(), rest);
  if (options.seed) return 1 + static_cast<int64_t>(draw(r.id) % static_cast<uint64_t>(most));
  const int64_t guess = 4 * options.min_chunk;  // until times are known: quick steps teach as much
  const int64_t n = model.ready() ? model.tokens_within(seconds, r.computed, most) : std::min(most, guess);
  return std::max(n, std::min(most, std::max<int64_t>(floor, 0)));
}

int64_t Scheduler::Tables::within_memory(const RequestRow& r, int64_t n) const {
  const uint64_t held = held_bytes(r.computed);
  while (n > 0 && used + (held_bytes(r.computed + n) - held) > options.budget_bytes) n /= 2;
  return n;
}

// Nothing can be computed: somebody must give way, or memory is short for the only one.
void Scheduler::Tables::break_deadlock() {
  if (alive > 0) evict();
}

// The prompt that has gone without a token for the longest, when that is too long. Every step serves the
// worst, so nobody waits longer than starve_steps and a step for each other prompt.
Slot Scheduler::Tables::starved() const {
  Slot worst = kNoSlot;
  for (const Slot s : prefilling) {
    if (is_gone(s)) continue;
    const RequestRow& r = rows[static_cast<size_t>(s)];
    if (step - r.served_step < options.starve_steps) continue;
    if (worst == kNoSlot || r.served_step < rows[static_cast<size_t>(worst)].served_step) worst = s;
  }
  return worst;
}

Slot Scheduler::Tables::best_running() const {
  Slot best = kNoSlot;
  Rank of_best{};
  for (const Slot s : prefilling) {
    if (is_gone(s) || is_picked(s)) continue;
    const Rank of_s = rank(s);
    if (best == kNoSlot || of_s < of_best) best = s, of_best = of_s;
  }
  return best;
}

Slot Scheduler::Tables::best_waiting() const {
  const auto in_band = [&](int32_t band) {
    Slot best = kNoSlot;
    double of_best = 0;
    if (waiting_in_band[static_cast<size_t>(band)] == 0) return best;
    for (const int32_t a : active) {
      const TenantRow& tenant = tenants[static_cast<size_t>(a)];
      if (tenant.head[static_cast<size_t>(band)] == kNoSlot) continue;
      const double at = level(a);
      if (best != kNoSlot && at >= of_best) {
        // Ties by arrival, so that the order of the table means nothing.
        if (at > of_best) continue;
        const Slot other = best_of(tenant, band);
        if (other == kNoSlot ||
            rows[static_cast<size_t>(other)].arrival > rows[static_cast<size_t>(best)].arrival)
          continue;
        best = other;
        continue;
      }
      if (const Slot s = best_of(tenant, band); s != kNoSlot) best = s, of_best = at;
    }
    return best;
  };
  if (promoted >= 0)
    if (const Slot s = in_band(promoted); s != kNoSlot) return s;
  for (int32_t b = 0; b < kBands; ++b)
    if (const Slot s = in_band(b); s != kNoSlot) return s;
  return kNoSlot;
}

// The oldest ones of a tenant compete by length and age; once the oldest has waited for too long, it is next.
Slot Scheduler::Tables::best_of(const TenantRow& tenant, int32_t band) const {
  Slot best = kNoSlot;
  int64_t of_best = 0;
  int32_t seen = 0;
  for (Slot s = tenant.head[static_cast<size_t>(band)]; s != kNoSlot && seen < kWindow;
       s = rows[static_cast<size_t>(s)].next, ++seen) {
    const RequestRow& r = rows[static_cast<size_t>(s)];
    if (is_gone(s) || is_picked(s) || blocked(r)) continue;
    if (best == kNoSlot && step - r.arrived_step >= options.starve_steps) return s;
    const int64_t key = aged_key(s);
    if (best == kNoSlot || key < of_best) best = s, of_best = key;
  }
  return best;
}

// Does another one compute what it begins with? One that waits is a reason only when it waits for such a one.
bool Scheduler::Tables::blocked(const RequestRow& request) const {
  constexpr int kMostLinks = 16;
  const RequestRow* r = &request;
  for (int i = 0; i < kMostLinks && r->follows != kNoSlot; ++i) {
    const RequestRow& first = rows[static_cast<size_t>(r->follows)];
    if (first.id != r->follows_id || first.phase == RequestPhase::none || is_gone(r->follows)) return false;
    if (first.phase == RequestPhase::running || is_picked(r->follows))
      return first.computed < r->follow_tokens;
    r = &first;
  }
  return false;
}

bool Scheduler::Tables::can_admit(const RequestRow& r) const {
  if (alive >= options.max_running) return false;
  if (!limited || alive == 0) return true;
  const uint64_t needs = expected_bytes(r);
  return expected <= options.budget_bytes && needs <= options.budget_bytes - expected;
}

double Scheduler::Tables::level(int32_t tenant) const {
  if (options.seed) return static_cast<double>(draw(~static_cast<uint64_t>(tenant)) >> 12);
  const Extra& e = extra[static_cast<size_t>(tenant)];
  return tenants[static_cast<size_t>(tenant)].counter + (e.plan == plan_number ? e.tokens : 0);
}

// Both grow by time at the same rate, so the order of two requests never turns.
int64_t Scheduler::Tables::aged_key(Slot slot) const {
  const RequestRow& r = rows[static_cast<size_t>(slot)];
  if (options.seed) return static_cast<int64_t>(draw(r.id) >> 2);
  return r.left() - r.charged * (r.phase == RequestPhase::waiting ? 1 : 0) + kAgePerStep * r.arrived_step;
}

Scheduler::Tables::Rank Scheduler::Tables::rank(Slot slot) const {
  const RequestRow& r = rows[static_cast<size_t>(slot)];
  return {effective_band(r.band), level(r.tenant), aged_key(slot), r.arrival};
}

bool Scheduler::Tables::Rank::operator<(const Rank& o) const {
  if (band != o.band) return band < o.band;
  if (level != o.level) return level < o.level;
  if (key != o.key) return key < o.key;
  return arrival < o.arrival;
}

void Scheduler::Tables::shuffle_slices() {
  for (size_t i = plan.slices.size(); i > 1; --i) std::swap(plan.slices[i - 1], plan.slices[draw(i) % i]);
}

}  // namespace ingle::engine
