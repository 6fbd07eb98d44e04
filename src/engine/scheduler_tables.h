// Private to the scheduler: its tables. Rows of requests and tenants are made once; queues and free lists are
// chains of row numbers through them, so that nothing is allocated later.
#pragma once
#include <array>
#include <vector>

#include "engine/scheduler.h"

namespace ingle::engine {

struct RequestRow {
  uint64_t id = 0;
  Slot prev = kNoSlot, next = kNoSlot;  // in its tenant's queue; next also in the free list
  int32_t tenant = -1, band = 0;
  RequestPhase phase = RequestPhase::none;
  int64_t arrival = 0;       // counts up: who came first
  int64_t arrived_step = 0;  // the step before which it came
  int64_t served_step = 0;   // the last one that gave it a token, or admitted it
  int64_t prompt = 0, known = 0, computed = 0;
  int64_t charged = 0;  // prompt tokens that its tenant has paid for, or that were free
  int64_t max_tokens = 0, preemptions = 0;
  double deadline = 0;
  Slot follows = kNoSlot;
  uint64_t follows_id = 0;
  int64_t follow_tokens = 0;

  int64_t left() const { return known - computed; }
};

struct TenantRow {
  uint64_t key = 0;
  double counter = 0;  // weighted tokens that it was served
  int32_t live = 0;    // its requests
  int32_t active_at = -1;
  int32_t next = -1;  // in its bucket, or in the free list
  std::array<Slot, kBands> head{}, tail{};
};

// Deterministic and well mixed; for ties and seeds.
inline uint64_t mix(uint64_t x) {  // the finaliser of splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

struct Scheduler::Tables {
  explicit Tables(const SchedulerOptions& o);

  const SchedulerOptions options;
  const bool limited;  // there is a byte budget
  std::vector<RequestRow> rows;
  std::vector<TenantRow> tenants;
  std::vector<int32_t> buckets;
  std::vector<int32_t> active;  // tenants with live requests
  std::vector<Slot> running;
  Slot free_row = kNoSlot;
  int32_t free_tenant = -1;
  int32_t n_waiting = 0;
  std::array<int32_t, kBands> waiting_in_band{};
  int64_t queued_tokens = 0;
  int64_t arrivals = 0, step = 0, preemptions = 0;
  double earliest_deadline = std::numeric_limits<double>::infinity();  // a lower bound
  double last_counter = 0;                                             // of the tenant that became idle last
  double ratio;
  double seconds_per_prompt_token = 0;
  std::array<double, kBands> credit{};  // prompt tokens that a lower band has coming to it
  CostModel model;

  // ---- rows (scheduler_tables.cpp)
  int32_t tenant_of(uint64_t key);  // found or made
  int32_t find_tenant(uint64_t key) const;
  void activate(int32_t tenant);
  void deactivate(int32_t tenant) noexcept;
  Slot take_row();
  void enqueue(Slot slot) noexcept;  // by arrival
  void dequeue(Slot slot) noexcept;
  void stop_running(Slot slot) noexcept;
  void free(Slot slot) noexcept;
  void preempt(Slot slot) noexcept;

  uint64_t held_bytes(int64_t tokens) const noexcept { return limited ? options.cost.bytes(tokens) : 0; }
  uint64_t expected_bytes(const RequestRow& r) const noexcept;

  // ---- one plan (scheduler_plan.cpp). Everything below is scratch: it means nothing between plans.
  Plan plan;
  uint64_t plan_number = 0;
  std::vector<uint64_t> gone, picked;  // [row]: the last plan in which it was
  struct Extra {
    uint64_t plan = 0;
    double tokens = 0;
  };
  std::vector<Extra> extra;  // [tenant]: what this plan gives it
  std::vector<Slot> prefilling;
  int32_t alive = 0, decodes = 0, promoted = -1;
  uint64_t used = 0, expected = 0;
  std::array<int32_t, kBands> prefills_in_band{};

  void make_plan(double now, double target, bool bounded, bool paused);
  void expire(double now);
  void begin_accounts();
  void displace();
  void fit_decodes();
  void plan_decodes();
  void plan_prefills(double target, bool bounded);
  void break_deadlock();
  void shuffle_slices();
  int64_t prefill_tokens(const RequestRow& r, int64_t rest, int64_t floor, double seconds) const;
  int64_t within_memory(const RequestRow& r, int64_t n) const;
  Slot starved() const;
  Slot best_running() const;
  Slot best_waiting() const;
  Slot best_of(const TenantRow& tenant, int32_t band) const;
  bool blocked(const RequestRow& r) const;
  bool can_admit(const RequestRow& r) const;
  bool evict();
  Slot victim() const;
  void drop(Slot slot, std::vector<Slot>& list);
  bool is_gone(Slot s) const { return gone[static_cast<size_t>(s)] == plan_number; }
  bool is_picked(Slot s) const { return picked[static_cast<size_t>(s)] == plan_number; }
  int32_t effective_band(int32_t band) const { return band == promoted ? -1 : band; }
  double level(int32_t tenant) const;
  struct Rank {
    int32_t band;
    double level;
    int64_t key, arrival;
    bool operator<(const Rank& o) const;
  };
  Rank rank(Slot slot) const;
  int64_t aged_key(Slot slot) const;
  uint64_t draw(uint64_t what) const {
    return mix(options.seed ^ mix(static_cast<uint64_t>(step) ^ mix(what)));
  }
};

}  // namespace ingle::engine
