#include "engine/scheduler_tables.h"

#include <algorithm>

#include "core/error.h"

namespace ingle::engine {
namespace {

// What an admitted request is expected to generate, as a share of its max_tokens: less while all goes well,
// more after each preemption. The figures are SGLang's.
constexpr double kFirstRatio = 0.7, kLeastRatio = 0.1, kRatioDecay = (kFirstRatio - kLeastRatio) / 600;
constexpr double kRatioRaise = 1.3, kRatioStep = 0.05;
constexpr int64_t kMostExpected = 4096;  // tokens; who asks for more hardly means it
constexpr int64_t kMargin = 32;          // tokens that a request which passed its expectation still needs
constexpr int32_t kMostRows = 1 << 24;

template <class T>
void check_range(const char* name, T value, T low, T high) {
  if (!(value >= low && value <= high))
    fail(Code::invalid_argument, std::string("option ") + name,
         format("is {}, expected {} to {}", value, low, high));
}

void check(const SchedulerOptions& o) {
  check_range("max_running", o.max_running, 1, 1 << 16);
  check_range("max_queued", o.max_queued, 1, kMostRows - (1 << 16));
  check_range("chunk", o.chunk, int64_t{1}, int64_t{1} << 20);
  check_range("min_chunk", o.min_chunk, int64_t{1}, o.chunk);
  check_range("prefills", o.prefills, 1, 1024);
  check_range("starve_steps", o.starve_steps, int64_t{1}, int64_t{1} << 40);
  check_range("band_share", o.band_share, 0.0, 0.3);
  check_range("target", o.target, 1e-6, 3600.0);
  if (!(o.max_wait > 0)) fail(Code::invalid_argument, "option max_wait", "must be more than 0 seconds");
  if (o.max_queued_tokens < 1)
    fail(Code::invalid_argument, "option max_queued_tokens", format("is {}", o.max_queued_tokens));
}

uint64_t saturating_add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

uint64_t StateCost::bytes(int64_t tokens) const noexcept {
  uint64_t sum = 0;
  for (const Part& p : parts) {
    int64_t pages = (tokens + p.page_tokens - 1) / p.page_tokens;
    if (p.most_pages > 0) pages = std::min(pages, p.most_pages);
    const auto n = static_cast<uint64_t>(pages);
    sum = p.page_bytes != 0 && n > UINT64_MAX / p.page_bytes ? UINT64_MAX
                                                             : saturating_add(sum, n * p.page_bytes);
  }
  return sum;
}

Scheduler::Tables::Tables(const SchedulerOptions& o)
    : options(o), limited(o.budget_bytes != UINT64_MAX), ratio(kFirstRatio) {
  check(o);
  // A request that is preempted waits again: the queue has room for all that run, too.
  const auto n = static_cast<size_t>(o.max_running) + static_cast<size_t>(o.max_queued);
  rows.resize(n);
  tenants.resize(n);
  buckets.assign(n, -1);
  gone.assign(n, 0);
  picked.assign(n, 0);
  extra.resize(n);
  for (size_t i = n; i-- > 0;) {
    rows[i].next = free_row;
    free_row = static_cast<Slot>(i);
    tenants[i].next = free_tenant;
    free_tenant = static_cast<int32_t>(i);
  }
  const auto most_running = static_cast<size_t>(o.max_running);
  active.reserve(n);
  running.reserve(most_running);
  prefilling.reserve(most_running);
  plan.expired.reserve(n);
  for (auto* list : {&plan.preempted, &plan.hopeless, &plan.admitted}) list->reserve(most_running);
  plan.slices.reserve(most_running);
}

int32_t Scheduler::Tables::find_tenant(uint64_t key) const {
  int32_t t = buckets[mix(key) % buckets.size()];
  while (t >= 0 && tenants[static_cast<size_t>(t)].key != key) t = tenants[static_cast<size_t>(t)].next;
  return t;
}

int32_t Scheduler::Tables::tenant_of(uint64_t key) {
  if (const int32_t t = find_tenant(key); t >= 0) return t;
  if (free_tenant < 0) {
    // There are as many rows as requests, so one of them is idle. The one that was served least is the one
    // that loses least by being forgotten.
    int32_t least = -1;
    for (size_t i = 0; i < tenants.size(); ++i)
      if (tenants[i].live == 0 &&
          (least < 0 || tenants[i].counter < tenants[static_cast<size_t>(least)].counter))
        least = static_cast<int32_t>(i);
    int32_t* link = &buckets[mix(tenants[static_cast<size_t>(least)].key) % buckets.size()];
    while (*link != least) link = &tenants[static_cast<size_t>(*link)].next;
    *link = tenants[static_cast<size_t>(least)].next;
    tenants[static_cast<size_t>(least)].next = -1;
    free_tenant = least;
  }
  const int32_t t = free_tenant;
  TenantRow& row = tenants[static_cast<size_t>(t)];
  free_tenant = row.next;
  row = TenantRow{};
  row.key = key;
  row.head.fill(kNoSlot);
  row.tail.fill(kNoSlot);
  int32_t& bucket = buckets[mix(key) % buckets.size()];
  row.next = bucket;
  bucket = t;
  return t;
}

// A tenant that comes back starts level with the one that was served least: time away is no credit.
void Scheduler::Tables::activate(int32_t tenant) {
  TenantRow& row = tenants[static_cast<size_t>(tenant)];
  double least = active.empty() ? last_counter : std::numeric_limits<double>::infinity();
  for (const int32_t t : active) least = std::min(least, tenants[static_cast<size_t>(t)].counter);
  row.counter = std::max(row.counter, least);
  row.active_at = static_cast<int32_t>(active.size());
  active.push_back(tenant);
}

void Scheduler::Tables::deactivate(int32_t tenant) noexcept {
  TenantRow& row = tenants[static_cast<size_t>(tenant)];
  const int32_t last = active.back();
  active[static_cast<size_t>(row.active_at)] = last;
  tenants[static_cast<size_t>(last)].active_at = row.active_at;
  active.pop_back();
  row.active_at = -1;
  last_counter = row.counter;
}

Slot Scheduler::Tables::take_row() {
  const Slot slot = free_row;
  free_row = rows[static_cast<size_t>(slot)].next;
  rows[static_cast<size_t>(slot)] = RequestRow{};
  return slot;
}

void Scheduler::Tables::enqueue(Slot slot) noexcept {
  RequestRow& r = rows[static_cast<size_t>(slot)];
  TenantRow& t = tenants[static_cast<size_t>(r.tenant)];
  const auto band = static_cast<size_t>(r.band);
  // From the end: a new request belongs there. One that was preempted is old and belongs near the front.
  Slot before = t.tail[band];
  if (const Slot head = t.head[band];
      head != kNoSlot && rows[static_cast<size_t>(head)].arrival > r.arrival) {
    before = kNoSlot;
  } else {
    while (before != kNoSlot && rows[static_cast<size_t>(before)].arrival > r.arrival)
      before = rows[static_cast<size_t>(before)].prev;
  }
  r.prev = before;
  r.next = before == kNoSlot ? t.head[band] : rows[static_cast<size_t>(before)].next;
  (r.prev == kNoSlot ? t.head[band] : rows[static_cast<size_t>(r.prev)].next) = slot;
  (r.next == kNoSlot ? t.tail[band] : rows[static_cast<size_t>(r.next)].prev) = slot;
  r.phase = RequestPhase::waiting;
  ++n_waiting;
  ++waiting_in_band[band];
  queued_tokens += r.known;
}

void Scheduler::Tables::dequeue(Slot slot) noexcept {
  RequestRow& r = rows[static_cast<size_t>(slot)];
  TenantRow& t = tenants[static_cast<size_t>(r.tenant)];
  const auto band = static_cast<size_t>(r.band);
  (r.prev == kNoSlot ? t.head[band] : rows[static_cast<size_t>(r.prev)].next) = r.next;
  (r.next == kNoSlot ? t.tail[band] : rows[static_cast<size_t>(r.next)].prev) = r.prev;
  r.prev = r.next = kNoSlot;
  --n_waiting;
  --waiting_in_band[band];
  queued_tokens -= r.known;
}

void Scheduler::Tables::stop_running(Slot slot) noexcept {
  running.erase(std::find(running.begin(), running.end(), slot));
}

void Scheduler::Tables::free(Slot slot) noexcept {
  RequestRow& r = rows[static_cast<size_t>(slot)];
  if (r.phase == RequestPhase::none) return;
  if (r.phase == RequestPhase::waiting)
    dequeue(slot);
  else
    stop_running(slot);
  if (--tenants[static_cast<size_t>(r.tenant)].live == 0) deactivate(r.tenant);
  r.phase = RequestPhase::none;
  r.id = 0;
  r.next = free_row;
  free_row = slot;
}

void Scheduler::Tables::preempt(Slot slot) noexcept {
  RequestRow& r = rows[static_cast<size_t>(slot)];
  stop_running(slot);
  r.computed = 0;
  ++r.preemptions;
  ++preemptions;
  ratio = std::min(1.0, ratio * kRatioRaise + kRatioStep);
  enqueue(slot);
}

uint64_t Scheduler::Tables::expected_bytes(const RequestRow& r) const noexcept {
  if (!limited) return 0;
  int64_t out = r.max_tokens;
  if (!options.no_evict)
    out = static_cast<int64_t>(ratio * static_cast<double>(std::min(r.max_tokens, kMostExpected)));
  const int64_t most = r.prompt + r.max_tokens;
  return options.cost.bytes(std::min(most, std::max(r.prompt + out, r.known + kMargin)));
}

Scheduler::Scheduler(const SchedulerOptions& options) : t_(std::make_unique<Tables>(options)) {}
Scheduler::~Scheduler() = default;

Submitted Scheduler::submit(const NewRequest& n) {
  Tables& t = *t_;
  if (n.band < 0 || n.band >= kBands)
    fail(Code::invalid_argument, "band", format("is {}, expected 0 to {}", n.band, kBands - 1));
  if (n.prompt < 1 || n.cached < 0 || n.max_tokens < 1)
    fail(Code::invalid_argument, "request",
         format("{} prompt tokens, {} of them cached, at most {} generated", n.prompt, n.cached,
                n.max_tokens));
  const uint64_t needed = t.held_bytes(n.prompt + (t.options.no_evict ? n.max_tokens : 1));
  if (t.limited && needed > t.options.budget_bytes) return {kNoSlot, Refusal::memory, 0};
  const double wait = estimated_wait();
  if (t.n_waiting >= t.options.max_queued || t.free_row == kNoSlot) return {kNoSlot, Refusal::requests, wait};
  if (t.n_waiting > 0 && n.prompt > t.options.max_queued_tokens - t.queued_tokens)
    return {kNoSlot, Refusal::tokens, wait};
  if (wait > t.options.max_wait) return {kNoSlot, Refusal::wait, wait};

  const int32_t tenant = t.tenant_of(n.tenant);
  const Slot slot = t.take_row();
  RequestRow& r = t.rows[static_cast<size_t>(slot)];
  r.id = n.id;
  r.tenant = tenant;
  r.band = n.band;
  r.arrival = t.arrivals++;
  r.arrived_step = r.served_step = t.step;
  r.prompt = r.known = n.prompt;
  r.charged = std::min(n.cached, n.prompt - 1);
  r.max_tokens = n.max_tokens;
  r.deadline = n.deadline;
  r.follows = n.follows;
  r.follows_id = n.follows_id;
  r.follow_tokens = n.follow_tokens;
  if (t.tenants[static_cast<size_t>(tenant)].live++ == 0) t.activate(tenant);
  t.enqueue(slot);
  t.earliest_deadline = std::min(t.earliest_deadline, n.deadline);
  return {slot, Refusal::none, wait};
}

void Scheduler::remove(Slot slot) noexcept {
  if (slot >= 0 && static_cast<size_t>(slot) < t_->rows.size()) t_->free(slot);
}

void Scheduler::admitted_with(Slot slot, int64_t computed) noexcept {
  RequestRow& r = t_->rows[static_cast<size_t>(slot)];
  r.computed = std::clamp<int64_t>(computed, 0, r.known - 1);
  r.charged = std::max(r.charged, std::min(r.computed, r.prompt));
}

namespace {

// What a step with prompt tokens took for each of them, followed slowly.
void follow(double& mean, double now) {
  constexpr double kWeight = 0.1;
  mean = mean == 0 ? now : mean + kWeight * (now - mean);
}

}  // namespace

void Scheduler::applied(std::span<const SliceResult> results, double seconds) {
  Tables& t = *t_;
  if (results.size() != t.plan.slices.size())
    fail(Code::internal, "scheduler",
         format("{} results for {} slices", results.size(), t.plan.slices.size()));
  ++t.step;
  for (const Slot s : t.plan.expired) t.free(s);
  for (const Slot s : t.plan.hopeless) t.free(s);
  for (const Slot s : t.plan.preempted) t.preempt(s);
  for (const Slot s : t.plan.admitted) {
    RequestRow& r = t.rows[static_cast<size_t>(s)];
    t.dequeue(s);
    r.phase = RequestPhase::running;
    r.served_step = t.step;
    t.running.push_back(s);
  }
  StepLoad load;
  int64_t prompt_tokens = 0;
  std::array<int64_t, kBands> in_band{};
  for (size_t i = 0; i < results.size(); ++i) {
    const SliceResult& result = results[i];
    RequestRow& r = t.rows[static_cast<size_t>(t.plan.slices[i].slot)];
    if (result.computed > 0) {
      load.add(r.computed, result.computed);
      r.served_step = t.step;
      r.computed += result.computed;
    }
    double& counter = t.tenants[static_cast<size_t>(r.tenant)].counter;
    if (const int64_t paid = std::min(r.computed, r.prompt); paid > r.charged) {
      counter += kInputWeight * static_cast<double>(paid - r.charged);
      prompt_tokens += paid - r.charged;
      in_band[static_cast<size_t>(r.band)] += paid - r.charged;
      r.charged = paid;
    }
    r.known += result.generated;
    counter += kOutputWeight * static_cast<double>(result.generated);
    if (result.outcome == SliceOutcome::ended)
      t.free(t.plan.slices[i].slot);
    else if (result.outcome == SliceOutcome::preempted)
      t.preempt(t.plan.slices[i].slot);
  }
  if (t.decodes > 0) t.ratio = std::max(kLeastRatio, t.ratio - kRatioDecay);
  if (seconds > 0) {
    t.model.observe(load, seconds);
    if (prompt_tokens > 0) follow(t.seconds_per_prompt_token, seconds / static_cast<double>(prompt_tokens));
  }
  if (t.options.band_share > 0) {
    bool above = false;
    for (size_t b = 0; b < kBands; ++b) {
      const bool has_work = t.waiting_in_band[b] > 0 || t.prefills_in_band[b] > 0;
      if (above && has_work) t.credit[b] += t.options.band_share * static_cast<double>(prompt_tokens);
      t.credit[b] = std::clamp(t.credit[b] - static_cast<double>(in_band[b]), 0.0,
                               4 * static_cast<double>(t.options.chunk));
      above |= has_work;
    }
  }
  if (!t.plan.expired.empty()) {
    t.earliest_deadline = std::numeric_limits<double>::infinity();
    for (const RequestRow& r : t.rows)
      if (r.phase != RequestPhase::none) t.earliest_deadline = std::min(t.earliest_deadline, r.deadline);
  }
  t.plan.slices.clear();
  t.plan.expired.clear();
  t.plan.hopeless.clear();
  t.plan.preempted.clear();
  t.plan.admitted.clear();
}

RequestView Scheduler::view(Slot slot) const {
  if (slot < 0 || static_cast<size_t>(slot) >= t_->rows.size()) return {};
  const RequestRow& r = t_->rows[static_cast<size_t>(slot)];
  return {r.id, r.phase, r.band, r.prompt, r.known, r.computed, r.preemptions};
}
std::span<const Slot> Scheduler::running() const { return t_->running; }
int32_t Scheduler::n_running() const { return static_cast<int32_t>(t_->running.size()); }
int32_t Scheduler::n_waiting() const { return t_->n_waiting; }
int64_t Scheduler::queued_tokens() const { return t_->queued_tokens; }
int64_t Scheduler::steps() const { return t_->step; }
int64_t Scheduler::preemptions() const { return t_->preemptions; }
double Scheduler::expected_ratio() const { return t_->ratio; }
double Scheduler::estimated_wait() const {
  return static_cast<double>(t_->queued_tokens) * t_->seconds_per_prompt_token;
}
uint64_t Scheduler::bytes_in_use() const {
  uint64_t sum = 0;
  for (const Slot s : t_->running) sum += t_->held_bytes(t_->rows[static_cast<size_t>(s)].computed);
  return sum;
}
double Scheduler::tenant_counter(uint64_t tenant) const {
  const int32_t t = t_->find_tenant(tenant);
  return t < 0 ? 0 : t_->tenants[static_cast<size_t>(t)].counter;
}
const CostModel& Scheduler::cost_model() const { return t_->model; }

}  // namespace ingle::engine
