// The real scheduler on modelled time: requests come, steps take what a cost says, and every plan is checked.
// A seed replays a run. For tests of fairness, waiting and faults, and for trying settings out; no model.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "engine/scheduler.h"

namespace ingle::engine {

struct SimulatedRequest {
  double arrival = 0;  // seconds; not before that of the request before it
  uint64_t tenant = 0;
  int32_t band = 1;
  int64_t prompt = 1;
  int64_t output = 1;      // tokens after which it ends by itself
  int64_t max_tokens = 1;  // what it says it may generate, at least `output`
  double deadline = std::numeric_limits<double>::infinity();
  double cancel_at = std::numeric_limits<double>::infinity();
};

struct SimulatorOptions {
  SchedulerOptions scheduler;
  // What a step takes in truth.
  double base = 2e-3, per_token = 1e-4, per_seen = 1e-8;
  double noise = 0.05;        // of the time, up or down
  double failing_slices = 0;  // the share of slices whose request fails
  double failing_steps = 0;   // the share of steps that compute nothing
  double failing_memory = 0;  // the share of slices for which there is no memory after all
  uint64_t seed = 1;          // of noise and faults
  double end = std::numeric_limits<double>::infinity();  // seconds after which nothing more is done
};

struct TenantReport {
  uint64_t tenant = 0;
  int64_t requests = 0, ended = 0;
  double service = 0;  // weighted tokens
};

struct SimulatorReport {
  int64_t submitted = 0, refused = 0, ended = 0, failed = 0, cancelled = 0, expired = 0;
  int64_t steps = 0, tokens = 0, preemptions = 0;
  double seconds = 0;          // of the virtual clock
  int64_t longest_gap = 0;     // steps that a running prompt went without a token
  int64_t overtaken_late = 0;  // a request of its own tenant passed one that had waited too long
  double longest_step = 0;     // seconds, of those with somebody decoding
  int64_t late_steps = 0;      // of them, those over 1.5 times the target and above the least chunk
  double first_token_p50 = 0, first_token_p99 = 0;  // seconds
  std::vector<TenantReport> tenants;
  uint64_t digest = 0;  // of every plan: equal runs have equal ones
  std::string broken;   // the first rule that a plan broke; empty: none
};

// `next` gives the requests one by one, false at the end. Returns when all are done.
SimulatorReport simulate(const SimulatorOptions& options, const std::function<bool(SimulatedRequest&)>& next);

// Jain's index over shares: 1 when all are equal, 1 / n when one has everything.
double jain(const std::vector<double>& shares);

}  // namespace ingle::engine
