// Plans by themselves: who comes first, what fits, who gives way.
#include <algorithm>
#include <chrono>
#include <map>

#include "allocations.h"
#include "engine/scheduler.h"
#include "support/errors.h"

using namespace ingle;
using namespace ingle::engine;
using namespace ingle::tests;

namespace {

StateCost pages_of(uint64_t bytes) { return {{{bytes, 32, 0}}}; }

// Carries plans out: each slice is computed, and a request ends after `output` tokens.
struct Rig {
  Scheduler scheduler;
  std::map<Slot, int64_t> output;
  std::map<uint64_t, int64_t> first_step;  // of each id, the step of its first token
  std::map<Slot, int64_t> generated;
  std::map<Slot, uint64_t> ids;
  double now = 0, seconds_per_step = 0.01;
  int64_t step = 0;
  uint64_t next_id = 1;

  explicit Rig(const SchedulerOptions& o) : scheduler(o) {}
  Slot add(int64_t prompt, int64_t out, uint64_t tenant = 0, int32_t band = 1) {
    NewRequest n;
    n.id = next_id++;
    n.tenant = tenant;
    n.band = band;
    n.prompt = prompt;
    n.max_tokens = out;
    const Submitted s = scheduler.submit(n);
    REQUIRE(s.slot != kNoSlot);
    output[s.slot] = out;
    generated[s.slot] = 0;
    ids[s.slot] = n.id;
    return s.slot;
  }
  Plan run() {
    const Plan plan = scheduler.plan(now);
    std::vector<SliceResult> results;
    for (const PlannedSlice& s : plan.slices) {
      SliceResult r;
      r.computed = s.n_tokens;
      r.generated = s.last ? 1 : 0;
      if (s.last) {
        if (!first_step.count(ids[s.slot])) first_step[ids[s.slot]] = step;
        if (++generated[s.slot] >= output[s.slot]) r.outcome = SliceOutcome::ended;
      }
      results.push_back(r);
    }
    scheduler.applied(results, seconds_per_step);
    now += seconds_per_step;
    ++step;
    return plan;
  }
  void drain() {
    for (int i = 0; i < 100000 && scheduler.n_running() + scheduler.n_waiting() > 0; ++i) run();
    REQUIRE(scheduler.n_running() + scheduler.n_waiting() == 0);
  }
};

int64_t left_of(const RequestView& v) { return v.known - v.computed; }

int64_t tokens_of(const Plan& plan, Slot slot) {
  for (const PlannedSlice& s : plan.slices)
    if (s.slot == slot) return s.n_tokens;
  return 0;
}

SchedulerOptions plain() {
  SchedulerOptions o;
  o.max_running = 8;
  o.max_queued = 64;
  o.chunk = 64;
  o.min_chunk = 16;
  o.target = 3600;  // time does not matter unless a test says so
  return o;
}

}  // namespace

TEST_CASE("a plan changes nothing: asked again it is the same", "[engine]") {
  Rig rig(plain());
  for (int i = 0; i < 12; ++i) rig.add(10 + 40 * (i % 3), 5, static_cast<uint64_t>(i % 4), i % 4);
  for (int i = 0; i < 20; ++i) {
    const Plan first = rig.scheduler.plan(rig.now);
    CHECK(rig.scheduler.plan(rig.now) == first);
    CHECK(rig.run() == first);
  }
}

TEST_CASE("who decodes comes first, prompts share what is left", "[engine]") {
  Rig rig(plain());
  const Slot decoder = rig.add(1, 50);
  rig.run();
  const Slot a = rig.add(30, 2), b = rig.add(500, 2), c = rig.add(25, 2);
  const Plan plan = rig.run();
  CHECK(tokens_of(plan, decoder) == 1);
  CHECK(plan.slices.front().slot == decoder);
  CHECK(tokens_of(plan, a) == 30);  // the short ones of a tenant pass the long one
  CHECK(tokens_of(plan, c) == 25);
  CHECK(tokens_of(plan, b) == 64 - 55);
  CHECK(plan.load.tokens == 65);
}

TEST_CASE("a long prompt is not starved by short ones", "[engine]") {
  SchedulerOptions o = plain();
  o.prefills = 1;
  o.starve_steps = 8;
  Rig rig(o);
  const Slot is_long = rig.add(4000, 1, 1);
  int64_t last = 0, worst = 0;
  for (int64_t i = 1; i < 2000 && rig.scheduler.view(is_long).phase != RequestPhase::none; ++i) {
    if (rig.scheduler.n_waiting() < 8) rig.add(64, 1, 1);
    if (tokens_of(rig.run(), is_long) > 0) {
      worst = std::max(worst, i - last);
      last = i;
    }
  }
  CHECK(rig.scheduler.view(is_long).phase == RequestPhase::none);
  CHECK(worst <= o.starve_steps + o.max_running);
}

TEST_CASE("bands are strict, and a share keeps the lower ones alive", "[engine]") {
  for (const double share : {0.0, 0.1}) {
    SchedulerOptions o = plain();
    o.band_share = share;
    Rig rig(o);
    std::map<int32_t, int64_t> tokens;
    for (int i = 0; i < 2000; ++i) {
      std::map<int32_t, int> waiting;  // both bands always have something to do
      for (const auto& [slot, id] : rig.ids)
        if (const RequestView v = rig.scheduler.view(slot); v.id == id && v.phase == RequestPhase::waiting)
          ++waiting[v.band];
      for (const int32_t band : {0, 2})
        while (waiting[band] < 6) rig.add(100, 1, static_cast<uint64_t>(band), band), ++waiting[band];
      const Plan plan = rig.scheduler.plan(rig.now);
      for (const PlannedSlice& s : plan.slices) tokens[rig.scheduler.view(s.slot).band] += s.n_tokens;
      rig.run();
    }
    const double lower = static_cast<double>(tokens[2]) / static_cast<double>(tokens[0] + tokens[2]);
    CAPTURE(share, lower);
    CHECK(lower >= 0.9 * share);
    CHECK(lower <= 1.1 * share + 0.01);
  }
}

TEST_CASE("tenants are served alike however much they ask for", "[engine]") {
  Rig rig(plain());
  std::map<uint64_t, int64_t> served;
  for (int i = 0; i < 3000; ++i) {
    std::map<uint64_t, int> queued;
    for (const auto& [slot, id] : rig.ids)
      if (const RequestView v = rig.scheduler.view(slot); v.id == id && v.phase == RequestPhase::waiting)
        ++queued[static_cast<uint64_t>(v.prompt)];
    while (queued[90] < 20) rig.add(90, 3, 90), ++queued[90];  // floods
    while (queued[30] < 2) rig.add(30, 3, 30), ++queued[30];
    const Plan plan = rig.scheduler.plan(rig.now);
    for (const PlannedSlice& s : plan.slices)
      served[static_cast<uint64_t>(rig.scheduler.view(s.slot).prompt)] += s.n_tokens;
    rig.run();
  }
  const double a = rig.scheduler.tenant_counter(90), b = rig.scheduler.tenant_counter(30);
  // The bound of virtual token counters: twice the largest request's weight, or what runs at once.
  CHECK(std::abs(a - b) <= 2 * std::max<double>(64, 2 * 8 * 3) + 90);
}

TEST_CASE("time away is no credit", "[engine]") {
  Rig rig(plain());
  rig.add(10, 5, 1);
  rig.drain();
  for (int i = 0; i < 20; ++i) rig.add(60, 5, 2);
  for (int i = 0; i < 15; ++i) rig.run();
  const double level = rig.scheduler.tenant_counter(2);
  REQUIRE(level > 100);
  rig.add(10, 5, 1);
  CHECK(rig.scheduler.tenant_counter(1) == level);
}

TEST_CASE("cached tokens are free", "[engine]") {
  Rig rig(plain());
  NewRequest n;
  n.id = 1;
  n.tenant = 7;
  n.prompt = 60;
  n.cached = 50;
  n.max_tokens = 3;
  const Slot slot = rig.scheduler.submit(n).slot;
  const Plan plan = rig.scheduler.plan(0);
  REQUIRE(plan.admitted == std::vector<Slot>{slot});
  rig.scheduler.admitted_with(slot, 50);
  rig.scheduler.applied(std::vector<SliceResult>{{10, 1}}, 0.01);
  CHECK(rig.scheduler.tenant_counter(7) == 10 * kInputWeight + kOutputWeight);
  CHECK(rig.scheduler.view(slot).computed == 60);
  CHECK(rig.scheduler.view(slot).known == 61);
}

TEST_CASE("who follows waits for what the other one computes", "[engine]") {
  SchedulerOptions o = plain();
  Rig rig(o);
  const Slot first = rig.add(200, 3);
  NewRequest n;
  n.id = 99;
  n.prompt = 210;
  n.max_tokens = 3;
  n.follows = first;
  n.follows_id = 1;
  n.follow_tokens = 192;
  const Slot second = rig.scheduler.submit(n).slot;
  rig.ids[second] = 99, rig.output[second] = 3;
  while (rig.scheduler.view(first).computed < 192) {
    rig.run();
    if (rig.scheduler.view(first).computed < 192)
      CHECK(rig.scheduler.view(second).phase == RequestPhase::waiting);
  }
  rig.run();
  CHECK(rig.scheduler.view(second).phase == RequestPhase::running);
  rig.drain();

  // And it does not wait for one that has gone.
  const Slot gone = rig.add(200, 3);
  n.follows = gone;
  n.follows_id = rig.ids[gone];
  n.id = 100;
  const Slot third = rig.scheduler.submit(n).slot;
  rig.ids[third] = 100, rig.output[third] = 3;
  rig.run();
  rig.scheduler.remove(gone);
  rig.run();
  CHECK(rig.scheduler.view(third).phase == RequestPhase::running);
}

TEST_CASE("a queue has bounds", "[engine]") {
  SchedulerOptions o = plain();
  o.max_queued = 3;
  o.max_queued_tokens = 100;
  o.budget_bytes = 64 * 10;
  o.cost = pages_of(64);
  Scheduler s(o);
  NewRequest n;
  n.prompt = 60;
  CHECK(s.submit(n).refusal == Refusal::none);
  CHECK(s.submit(n).refusal == Refusal::tokens);
  n.prompt = 10;
  CHECK(s.submit(n).refusal == Refusal::none);
  CHECK(s.submit(n).refusal == Refusal::none);
  CHECK(s.submit(n).refusal == Refusal::requests);
  n.prompt = 32 * 10;
  CHECK(s.submit(n).refusal == Refusal::memory);
  CHECK(s.n_waiting() == 3);
  CHECK(s.queued_tokens() == 80);
  n.band = kBands;
  CHECK(error_of([&] { s.submit(n); }).code() == Code::invalid_argument);
  n.band = 0;
  n.prompt = 0;
  CHECK(error_of([&] { s.submit(n); }).code() == Code::invalid_argument);
}

TEST_CASE("a queue that would take too long refuses", "[engine]") {
  SchedulerOptions o = plain();
  o.max_wait = 2;
  Rig rig(o);
  rig.seconds_per_step = 1;  // 64 prompt tokens a second
  rig.add(64 * 20, 1);
  for (int i = 0; i < 10; ++i) rig.run();
  CHECK(rig.scheduler.estimated_wait() == 0);
  int64_t accepted = 0;
  Submitted s;
  for (; accepted < 50; ++accepted) {
    NewRequest n;
    n.id = rig.next_id++;
    n.prompt = 64;
    s = rig.scheduler.submit(n);
    if (s.slot == kNoSlot) break;
  }
  CHECK(s.refusal == Refusal::wait);
  CHECK(s.wait > 2);
  CHECK(accepted >= 2);
  CHECK(accepted <= 4);
}

TEST_CASE("when memory is short the latest of the most served tenant gives way, and all end", "[engine]") {
  SchedulerOptions o = plain();
  o.cost = pages_of(100);
  o.budget_bytes = 100 * 12;
  Rig rig(o);
  for (int i = 0; i < 6; ++i) rig.add(20, 100, static_cast<uint64_t>(i % 2));
  int64_t preempted = 0;
  for (int i = 0; i < 5000 && rig.scheduler.n_running() + rig.scheduler.n_waiting() > 0; ++i) {
    const Plan plan = rig.run();
    CHECK(plan.hopeless.empty());
    CHECK(rig.scheduler.bytes_in_use() <= o.budget_bytes);
    preempted += static_cast<int64_t>(plan.preempted.size());
    if (!plan.preempted.empty()) CHECK(plan.admitted.empty());
  }
  CHECK(rig.scheduler.n_running() + rig.scheduler.n_waiting() == 0);
  CHECK(preempted > 0);
  CHECK(rig.scheduler.preemptions() == preempted);
  CHECK(rig.scheduler.bytes_in_use() == 0);
}

TEST_CASE("with no_evict nobody gives way", "[engine]") {
  SchedulerOptions o = plain();
  o.cost = pages_of(100);
  o.budget_bytes = 100 * 12;
  o.no_evict = true;
  Rig rig(o);
  for (int i = 0; i < 6; ++i) rig.add(20, 100, static_cast<uint64_t>(i % 2));
  rig.drain();
  CHECK(rig.scheduler.preemptions() == 0);
  NewRequest n;
  n.prompt = 20;
  n.max_tokens = 32 * 12;
  CHECK(rig.scheduler.submit(n).refusal == Refusal::memory);
}

TEST_CASE("the only one that does not fit is told so, the others go on", "[engine]") {
  SchedulerOptions o = plain();
  o.cost = pages_of(100);
  o.budget_bytes = 100 * 3;
  Rig rig(o);
  const Slot big = rig.add(40, 1000);
  rig.add(20, 10);
  bool hopeless = false;
  for (int i = 0; i < 3000 && rig.scheduler.n_running() + rig.scheduler.n_waiting() > 0; ++i) {
    const Plan plan = rig.run();
    if (plan.hopeless == std::vector<Slot>{big}) hopeless = true;
  }
  CHECK(hopeless);
  CHECK(rig.scheduler.n_running() + rig.scheduler.n_waiting() == 0);
  CHECK(rig.first_step.count(2) == 1);
}

TEST_CASE("a higher band takes the place of a lower one", "[engine]") {
  SchedulerOptions o = plain();
  o.max_running = 2;
  Rig rig(o);
  rig.add(5, 1000, 0, 2);
  const Slot late = rig.add(5, 1000, 0, 2);
  rig.run(), rig.run();
  const Slot urgent = rig.add(5, 3, 0, 0);
  CHECK(rig.run().preempted == std::vector<Slot>{late});
  CHECK(rig.run().admitted == std::vector<Slot>{urgent});
  const Slot same = rig.add(5, 3, 0, 2);  // an equal one does not
  rig.run();
  CHECK(rig.scheduler.view(same).phase == RequestPhase::waiting);
}

TEST_CASE("deadlines, cancels and a pause", "[engine]") {
  Rig rig(plain());
  NewRequest n;
  n.prompt = 500;
  n.max_tokens = 5;
  n.deadline = 0.05;
  n.id = 500;
  const Slot slot = rig.scheduler.submit(n).slot;
  const Slot other = rig.add(10, 5);
  CHECK(rig.run().expired.empty());
  rig.now = 0.05;
  CHECK(rig.scheduler.plan(rig.now).expired == std::vector<Slot>{slot});
  CHECK(rig.run().expired == std::vector<Slot>{slot});
  CHECK(rig.scheduler.view(slot).phase == RequestPhase::none);
  CHECK(rig.run().expired.empty());

  rig.scheduler.pause(true);
  CHECK(rig.run().slices.empty());
  CHECK(rig.scheduler.view(other).phase == RequestPhase::running);
  rig.scheduler.pause(false);
  CHECK(tokens_of(rig.run(), other) == 1);
  rig.scheduler.remove(other);
  rig.scheduler.remove(other);  // does nothing
  CHECK(rig.scheduler.n_running() == 0);
  CHECK(rig.run().slices.empty());
}

TEST_CASE("chunks follow the time that steps take", "[engine]") {
  SchedulerOptions o = plain();
  o.chunk = 512;
  o.min_chunk = 4;
  o.target = 0.1;
  Rig rig(o);
  rig.add(1, 100000);
  const auto seconds = [&](const Plan& p) {  // in truth
    return 0.01 + 0.001 * static_cast<double>(p.load.tokens) + 1e-7 * p.load.seen;
  };
  Slot prompt = rig.add(3000, 1);
  int64_t steps = 0, late = 0, early = 0;
  for (int i = 0; i < 400; ++i) {
    if (rig.scheduler.view(prompt).phase == RequestPhase::none) prompt = rig.add(3000, 1);
    const Plan plan = rig.scheduler.plan(rig.now);
    rig.seconds_per_step = seconds(plan);
    rig.run();
    if (i < 50 || left_of(rig.scheduler.view(prompt)) < 100) continue;
    ++steps;
    late += rig.seconds_per_step > 1.1 * o.target;
    early += rig.seconds_per_step < 0.8 * o.target;
  }
  REQUIRE(steps > 200);
  CHECK(late == 0);
  CHECK(early < steps / 20);
}

TEST_CASE("a step that must be short is short", "[engine]") {
  SchedulerOptions o = plain();
  o.chunk = 512;
  o.min_chunk = 1;
  o.target = 1;
  Rig rig(o);
  const Slot slot = rig.add(100000, 1);
  for (int i = 0; i < 50; ++i) {
    const Plan plan = rig.scheduler.plan(rig.now);
    rig.seconds_per_step = 0.001 * static_cast<double>(plan.load.tokens) * (i % 2 ? 1 : 1.01);
    rig.run();
  }
  CHECK(tokens_of(rig.scheduler.plan(rig.now), slot) == 512);
  const int64_t n = tokens_of(rig.scheduler.plan(rig.now, 0.05), slot);
  CHECK(n >= 40);
  CHECK(n <= 52);
}

TEST_CASE("options that make no sense are refused by name", "[engine]") {
  const auto refused = [](auto change) {
    SchedulerOptions o = plain();
    change(o);
    return error_of([&] { Scheduler s(o); }).where();
  };
  CHECK(refused([](auto& o) { o.max_running = 0; }) == "option max_running");
  CHECK(refused([](auto& o) { o.max_queued = 0; }) == "option max_queued");
  CHECK(refused([](auto& o) { o.min_chunk = o.chunk + 1; }) == "option min_chunk");
  CHECK(refused([](auto& o) { o.band_share = 0.5; }) == "option band_share");
  CHECK(refused([](auto& o) { o.target = 0; }) == "option target");
  CHECK(refused([](auto& o) { o.max_wait = 0; }) == "option max_wait");
}

TEST_CASE("planning takes no memory once it is made", "[engine]") {
  SchedulerOptions o = plain();
  o.max_running = 256;
  o.max_queued = 512;
  o.chunk = 1024;
  o.prefills = 8;
  o.cost = pages_of(1000);
  o.budget_bytes = 600 * 1000;
  Scheduler s(o);
  std::vector<SliceResult> results;
  results.reserve(1024);
  std::vector<int64_t> left(1024);
  uint64_t id = 0;
  int64_t before = 0;
  for (int i = 0; i < 3000; ++i) {
    if (i == 500) before = n_allocations();
    for (int k = 0; k < 6; ++k) {
      NewRequest n;
      n.id = ++id;
      n.tenant = id % 300;
      n.band = static_cast<int32_t>(id % 3);
      n.prompt = 1 + static_cast<int64_t>(id * 37 % 200);
      n.max_tokens = 1 + static_cast<int64_t>(id * 11 % 90);
      n.deadline = 0.01 * i + static_cast<double>(id % 50);
      const Submitted put = s.submit(n);
      if (put.slot != kNoSlot) left[static_cast<size_t>(put.slot)] = n.max_tokens;
    }
    const Plan& plan = s.plan(0.01 * i);
    results.clear();
    for (const PlannedSlice& p : plan.slices) {
      SliceResult r{p.n_tokens, p.last ? 1 : 0};
      if (p.last && --left[static_cast<size_t>(p.slot)] <= 0) r.outcome = SliceOutcome::ended;
      results.push_back(r);
    }
    s.applied(results, 0.01);
    if (i % 7 == 0 && s.n_running() > 0) s.remove(s.running().front());
  }
  const int64_t after = n_allocations();
  CHECK(after == before);
  CHECK(s.n_running() > 50);
  CHECK(s.preemptions() > 0);
}

TEST_CASE("what planning costs at 256 running requests", "[engine][long]") {
  SchedulerOptions o = plain();
  o.max_running = 256;
  o.max_queued = 2048;
  o.chunk = 512;
  o.cost = {{{1000, 32, 0}, {500, 32, 40}}};
  o.budget_bytes = 1000000000;
  Rig rig(o);
  for (int i = 0; i < 2000; ++i) rig.add(100 + i % 900, 1000, static_cast<uint64_t>(i % 100), i % 4);
  while (rig.scheduler.n_running() < 250) rig.run();
  std::vector<SliceResult> results;
  double plan_s = 0, apply_s = 0;
  constexpr int kSteps = 400;
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < kSteps; ++i) {
    const auto start = Clock::now();
    const Plan& plan = rig.scheduler.plan(rig.now);
    const auto planned = Clock::now();
    results.clear();
    for (const PlannedSlice& s : plan.slices) results.push_back({s.n_tokens, s.last ? 1 : 0});
    const auto computed = Clock::now();
    rig.scheduler.applied(results, 0.01);
    plan_s += std::chrono::duration<double>(planned - start).count();
    apply_s += std::chrono::duration<double>(Clock::now() - computed).count();
  }
  WARN("a step's plan took " << plan_s / kSteps * 1e6 << " us, its applying " << apply_s / kSteps * 1e6
                             << " us, with " << rig.scheduler.n_running() << " running and "
                             << rig.scheduler.n_waiting() << " waiting");
  CHECK(rig.scheduler.n_running() >= 250);
}
