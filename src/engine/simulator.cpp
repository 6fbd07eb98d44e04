#include "engine/simulator.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/format.h"
#include "core/random.h"

namespace ingle::engine {
namespace {

struct Live {
  SimulatedRequest request;
  uint64_t id = 0;
  int64_t generated = 0, served_step = 0, arrived_step = 0;
  double first_token = -1;
};

class Simulator {
 public:
  Simulator(const SimulatorOptions& options, const std::function<bool(SimulatedRequest&)>& next)
      : o_(options), next_(next), scheduler_(options.scheduler) {
    const auto n =
        static_cast<size_t>(o_.scheduler.max_running) + static_cast<size_t>(o_.scheduler.max_queued);
    live_.resize(n);
    seen_.assign(n, 0);
    results_.reserve(static_cast<size_t>(o_.scheduler.max_running));
  }

  SimulatorReport run() {
    more_ = next_(pending_);
    while (report_.broken.empty() && now_ < o_.end) {
      submit_due();
      if (scheduler_.n_running() + scheduler_.n_waiting() == 0) {
        if (!more_) break;
        now_ = std::max(now_, pending_.arrival);
        continue;
      }
      cancel_due();
      step();
    }
    finish();
    return std::move(report_);
  }

 private:
  float chance() { return uniform(o_.seed, draws_++); }
  Live& at(Slot slot) { return live_[static_cast<size_t>(slot)]; }
  void breaks(const std::string& what) {
    if (report_.broken.empty()) report_.broken = format("step {}: {}", report_.steps, what);
  }

  void submit_due() {
    while (more_ && pending_.arrival <= now_) {
      ++report_.submitted;
      TenantReport& tenant = tenants_[pending_.tenant];
      ++tenant.requests;
      NewRequest n;
      n.id = ++ids_;
      n.tenant = pending_.tenant;
      n.band = pending_.band;
      n.prompt = pending_.prompt;
      n.max_tokens = pending_.max_tokens;
      n.deadline = pending_.deadline;
      const Submitted s = scheduler_.submit(n);
      if (s.slot == kNoSlot) {
        ++report_.refused;
      } else {
        Live& l = at(s.slot);
        l = Live{};
        l.request = pending_;
        l.id = n.id;
        l.arrived_step = report_.steps;
        queue_of(l)[l.id] = l.arrived_step;
        if (pending_.cancel_at < o_.end) cancels_.emplace(pending_.cancel_at, std::pair(s.slot, n.id));
      }
      more_ = next_(pending_);
    }
  }

  void cancel_due() {
    while (!cancels_.empty() && cancels_.begin()->first <= now_) {
      const auto [slot, id] = cancels_.begin()->second;
      cancels_.erase(cancels_.begin());
      if (at(slot).id != id || scheduler_.view(slot).id != id) continue;
      scheduler_.remove(slot);
      end_of(slot);
      ++report_.cancelled;
    }
  }

  void end_of(Slot slot) {
    queue_of(at(slot)).erase(at(slot).id);
    at(slot).id = 0;
  }

  void step() {
    const Plan& plan = scheduler_.plan(now_);
    check(plan);
    note(plan);
    results_.clear();
    const bool fails = o_.failing_steps > 0 && chance() < o_.failing_steps;
    StepLoad load;
    int64_t decodes = 0, prompt_tokens = 0;
    for (const PlannedSlice& s : plan.slices) {
      const RequestView view = scheduler_.view(s.slot);
      (view.known - view.computed == 1 ? decodes : prompt_tokens) += s.n_tokens;
      SliceResult r;
      if (!fails) {
        load.add(view.computed, s.n_tokens);
        r = outcome(s);
      }
      results_.push_back(r);
    }
    double seconds = o_.base + o_.per_token * static_cast<double>(load.tokens) + o_.per_seen * load.seen;
    seconds *= 1 + o_.noise * (2 * static_cast<double>(chance()) - 1);
    now_ += seconds;
    report_.tokens += load.tokens;
    if (decodes > 0) {
      report_.longest_step = std::max(report_.longest_step, seconds);
      if (seconds > 1.5 * o_.scheduler.target && prompt_tokens > o_.scheduler.min_chunk &&
          scheduler_.cost_model().observations() > 50)
        ++report_.late_steps;
    }
    for (size_t i = 0; i < results_.size(); ++i) account(plan.slices[i], results_[i]);
    for (const Slot s : plan.expired) ++report_.expired, end_of(s);
    for (const Slot s : plan.hopeless) ++report_.failed, end_of(s);
    scheduler_.applied(results_, seconds);
    ++report_.steps;
  }

  SliceResult outcome(const PlannedSlice& s) {
    SliceResult r;
    if (o_.failing_memory > 0 && chance() < o_.failing_memory) {
      r.outcome = SliceOutcome::preempted;
      return r;
    }
    r.computed = s.n_tokens;
    if (o_.failing_slices > 0 && chance() < o_.failing_slices) {
      r.outcome = SliceOutcome::ended;
      return r;
    }
    if (!s.last) return r;
    r.generated = 1;
    if (at(s.slot).generated + 1 >= at(s.slot).request.output) r.outcome = SliceOutcome::ended;
    return r;
  }

  void account(const PlannedSlice& s, const SliceResult& r) {
    Live& l = at(s.slot);
    TenantReport& tenant = tenants_[l.request.tenant];
    tenant.service += kOutputWeight * static_cast<double>(r.generated);
    l.generated += r.generated;
    if (r.computed > 0) l.served_step = report_.steps + 1;
    if (r.generated > 0 && l.first_token < 0) {
      l.first_token = now_ - l.request.arrival;
      first_tokens_.push_back(static_cast<float>(l.first_token));
      tenant.service += kInputWeight * static_cast<double>(l.request.prompt);
    }
    if (r.outcome == SliceOutcome::preempted) queue_of(l)[l.id] = l.arrived_step;
    if (r.outcome != SliceOutcome::ended) return;
    const bool failed = l.generated < l.request.output;
    ++(failed ? report_.failed : report_.ended);
    if (!failed) ++tenant.ended;
    end_of(s.slot);
  }

  // What must hold of every plan.
  void check(const Plan& plan) {
    ++stamp_;
    uint64_t bytes = 0;
    int64_t decodes = 0, prompt_tokens = 0;
    for (const Slot s : plan.preempted) seen_[static_cast<size_t>(s)] = stamp_;
    for (const Slot s : plan.expired) seen_[static_cast<size_t>(s)] = stamp_;
    for (const Slot s : plan.hopeless) seen_[static_cast<size_t>(s)] = stamp_;
    size_t n_running = scheduler_.running().size();
    for (const Slot s : scheduler_.running()) {
      if (seen_[static_cast<size_t>(s)] == stamp_)
        --n_running;
      else
        bytes += held(scheduler_.view(s).computed);
    }
    n_running += plan.admitted.size();
    for (const PlannedSlice& s : plan.slices) {
      const RequestView view = scheduler_.view(s.slot);
      if (seen_[static_cast<size_t>(s.slot)] == stamp_) breaks(format("slot {} twice", s.slot));
      seen_[static_cast<size_t>(s.slot)] = stamp_;
      if (s.n_tokens < 1 || view.computed + s.n_tokens > view.known) breaks("a slice of the wrong length");
      if (s.last != (view.computed + s.n_tokens == view.known)) breaks("a slice that is wrongly the last");
      const bool admitted = view.phase == RequestPhase::waiting;
      if (admitted && std::find(plan.admitted.begin(), plan.admitted.end(), s.slot) == plan.admitted.end())
        breaks("a slice of a request that waits");
      bytes += held(view.computed + s.n_tokens) - held(view.computed);
      (view.known - view.computed == 1 && !admitted ? decodes : prompt_tokens) += s.n_tokens;
    }
    if (bytes > o_.scheduler.budget_bytes) breaks(format("{} bytes of {}", bytes, o_.scheduler.budget_bytes));
    if (prompt_tokens > o_.scheduler.chunk) breaks(format("{} prompt tokens", prompt_tokens));
    if (n_running > static_cast<size_t>(o_.scheduler.max_running)) breaks(format("{} run", n_running));
    for (const Slot s : scheduler_.running()) {
      const RequestView view = scheduler_.view(s);
      const bool dropped = seen_[static_cast<size_t>(s)] == stamp_;
      if (view.known - view.computed == 1 && !dropped) breaks("a request that decodes was left out");
      report_.longest_gap = std::max(report_.longest_gap, report_.steps - at(s).served_step);
    }
  }
  uint64_t held(int64_t tokens) const {
    return o_.scheduler.budget_bytes == UINT64_MAX ? 0 : o_.scheduler.cost.bytes(tokens);
  }

  void note(const Plan& plan) {
    const auto add = [&](uint64_t x) { report_.digest = (report_.digest ^ x) * 0x100000001b3; };
    for (const auto* list : {&plan.expired, &plan.preempted, &plan.hopeless, &plan.admitted}) {
      add(list->size());
      for (const Slot s : *list) add(static_cast<uint64_t>(s));
    }
    for (const PlannedSlice& s : plan.slices)
      add(static_cast<uint64_t>(s.slot) << 32 | static_cast<uint64_t>(s.n_tokens));
    report_.preemptions += static_cast<int64_t>(plan.preempted.size());
    for (const Slot s : plan.preempted) queue_of(at(s))[at(s).id] = at(s).arrived_step;
    for (const Slot s : plan.admitted) {
      at(s).served_step = report_.steps + 1;
      check_turn(s);
    }
  }
  // Nobody of the same tenant and band who came before, and has waited for too long, is passed.
  void check_turn(Slot admitted) {
    const Live& a = at(admitted);
    auto& queue = queue_of(a);
    const auto first = queue.begin();
    if (first != queue.end() && first->first < a.id &&
        report_.steps - first->second >= o_.scheduler.starve_steps)
      ++report_.overtaken_late;
    queue.erase(a.id);
  }
  std::map<uint64_t, int64_t>& queue_of(const Live& l) {
    return queues_[l.request.tenant * kBands + static_cast<uint64_t>(l.request.band)];
  }

  void finish() {
    report_.seconds = now_;
    if (!first_tokens_.empty()) {
      std::sort(first_tokens_.begin(), first_tokens_.end());
      report_.first_token_p50 = static_cast<double>(first_tokens_[first_tokens_.size() / 2]);
      report_.first_token_p99 = static_cast<double>(first_tokens_[first_tokens_.size() * 99 / 100]);
    }
    for (auto& [id, tenant] : tenants_) {
      tenant.tenant = id;
      report_.tenants.push_back(tenant);
    }
  }

  const SimulatorOptions o_;
  const std::function<bool(SimulatedRequest&)>& next_;
  Scheduler scheduler_;
  SimulatorReport report_;
  SimulatedRequest pending_;
  bool more_ = false;
  double now_ = 0;
  uint64_t ids_ = 0, draws_ = 0, stamp_ = 0;
  std::vector<Live> live_;
  std::vector<uint64_t> seen_;
  std::vector<SliceResult> results_;
  std::vector<float> first_tokens_;
  std::multimap<double, std::pair<Slot, uint64_t>> cancels_;
  std::map<uint64_t, TenantReport> tenants_;
  std::unordered_map<uint64_t, std::map<uint64_t, int64_t>> queues_;  // waiting: id, step of its arrival
};

}  // namespace

SimulatorReport simulate(const SimulatorOptions& options,
                         const std::function<bool(SimulatedRequest&)>& next) {
  return Simulator(options, next).run();
}

double jain(const std::vector<double>& shares) {
  double sum = 0, squares = 0;
  for (const double x : shares) sum += x, squares += x * x;
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 1;
}

}  // namespace ingle::engine
