// Which requests take part in the next step, and with how many tokens each. Pure planning: no clock, no
// model, no thread, no memory but its own tables, which are made once. The caller says what time it is,
// carries a plan out, and tells what came of it:
//
//   submit … remove     at any time but between the two calls below
//   plan(now)           changes nothing: asked again, it answers the same
//   applied(results)    what the step did; what the plan said besides its slices has happened too
//
// The order, from the outside in: band (strict, unless band_share is set), tenant (the one that was served
// least, by tokens), then age and length within the tenant. See docs/contracts/engine.md.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/cost_model.h"

namespace ingle::engine {

constexpr int32_t kBands = 4;                          // 0 is served first
constexpr double kInputWeight = 1, kOutputWeight = 2;  // of a token in a tenant's counter
// What a waiting request's length weighs against its age: a step of age counts for so many tokens.
constexpr int64_t kAgePerStep = 64;
// Of a tenant's queue, so many of the oldest requests compete; the others wait for their turn in order.
constexpr int32_t kWindow = 16;

// Bytes that a sequence of some length holds, by parts.
struct StateCost {
  struct Part {
    uint64_t page_bytes = 0;
    int64_t page_tokens = 1;
    int64_t most_pages = 0;  // a window, or snapshots: never more than these; 0: no bound
  };
  std::vector<Part> parts;
  uint64_t bytes(int64_t tokens) const noexcept;
};

struct SchedulerOptions {
  int32_t max_running = 64;                                         // sequences that hold state at once
  int32_t max_queued = 1024;                                        // requests that wait
  int64_t max_queued_tokens = std::numeric_limits<int64_t>::max();  // of prompts that wait
  double max_wait = std::numeric_limits<double>::infinity();        // seconds, estimated
  double target = 0.1;        // seconds that a step may take while somebody waits for his next token
  int64_t chunk = 512;        // prompt tokens of one step, at most
  int64_t min_chunk = 16;     // and at least, where there is a prompt to compute and memory for it
  int32_t prefills = 4;       // prompts that share a step
  int64_t starve_steps = 32;  // after so many steps without a token a prompt goes first
  double band_share = 0;      // of the prompt tokens, what each lower band gets at least
  bool no_evict = false;      // what a request may ever take is set aside when it is admitted
  uint64_t budget_bytes = std::numeric_limits<uint64_t>::max();
  StateCost cost;
  // Not 0: every choice that is free, chunk sizes too, is drawn at random. For tests of what must not depend
  // on it.
  uint64_t seed = 0;
};

using Slot = int32_t;  // a row of the request table
constexpr Slot kNoSlot = -1;

struct NewRequest {
  uint64_t id = 0;      // the caller's own
  uint64_t tenant = 0;  // equal numbers share a counter
  int32_t band = 1;     // [0, kBands)
  int64_t prompt = 0;   // tokens, at least 1
  int64_t cached = 0;   // of them, expected to be there already; shortens its wait, costs its tenant nothing
  int64_t max_tokens = 1;                                     // it may generate, at least 1
  double deadline = std::numeric_limits<double>::infinity();  // by the clock of plan()
  // Another live request that computes what this one begins with: this one waits while that one runs and has
  // fewer than follow_tokens.
  Slot follows = kNoSlot;
  uint64_t follows_id = 0;
  int64_t follow_tokens = 0;
};

enum class Refusal : uint8_t {
  none,
  requests,  // max_queued
  tokens,    // max_queued_tokens
  wait,      // max_wait
  memory     // it would not fit the budget if it were alone
};
struct Submitted {
  Slot slot = kNoSlot;
  Refusal refusal = Refusal::none;
  double wait = 0;  // seconds until it would be begun, as estimated
};

struct PlannedSlice {
  Slot slot = kNoSlot;
  int64_t n_tokens = 0;
  bool last = false;  // computes all that is known, so a token can be sampled after it
  bool operator==(const PlannedSlice&) const = default;
};
struct Plan {
  std::vector<Slot> expired;    // their deadline has passed
  std::vector<Slot> preempted;  // give back their state, wait, and are computed again later
  std::vector<Slot> hopeless;   // do not fit the budget, though they are alone
  std::vector<Slot> admitted;   // begin; the caller may say admitted_with()
  std::vector<PlannedSlice> slices;
  StepLoad load;
  double expected = 0;  // seconds; 0 while the cost model knows too little
  bool operator==(const Plan& o) const {
    return expired == o.expired && preempted == o.preempted && hopeless == o.hopeless &&
           admitted == o.admitted && slices == o.slices && load.tokens == o.load.tokens;
  }
};

enum class SliceOutcome : uint8_t { goes_on, ended, preempted };
struct SliceResult {
  int64_t computed = 0;                          // tokens that count now
  int64_t generated = 0;                         // tokens that it knows more than before
  SliceOutcome outcome = SliceOutcome::goes_on;  // preempted: there was no memory for it after all
};

enum class RequestPhase : uint8_t { none, waiting, running };
struct RequestView {
  uint64_t id = 0;
  RequestPhase phase = RequestPhase::none;
  int32_t band = 0;
  int64_t prompt = 0, known = 0, computed = 0;  // tokens; known: prompt and generated
  int64_t preemptions = 0;
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  Submitted submit(const NewRequest& request);
  void remove(Slot slot) noexcept;  // it ended, or was cancelled
  void pause(bool paused) { paused_ = paused; }
  bool paused() const { return paused_; }

  const Plan& plan(double now) { return plan(now, 0); }
  // With a step's length, in seconds, below which the step must stay if it can; 0: the target.
  const Plan& plan(double now, double target);
  // Between plan() and applied(), of an admitted request: so many tokens were found computed.
  void admitted_with(Slot slot, int64_t computed) noexcept;
  // One result for each slice of the last plan, and how long the step took (0: nobody measured).
  void applied(std::span<const SliceResult> results, double seconds);

  RequestView view(Slot slot) const;
  std::span<const Slot> running() const;  // in the order of their admission
  int32_t n_running() const;
  int32_t n_waiting() const;
  int64_t queued_tokens() const;  // prompt tokens of those that wait
  int64_t steps() const;
  int64_t preemptions() const;
  double expected_ratio() const;  // of max_tokens, what an admitted request is expected to generate
  double estimated_wait() const;  // seconds until a request that comes now would be begun
  uint64_t bytes_in_use() const;  // by the tables: what the running requests' tokens take
  double tenant_counter(uint64_t tenant) const;
  const CostModel& cost_model() const;

 private:
  struct Tables;
  std::unique_ptr<Tables> t_;
  bool paused_ = false;
};

}  // namespace ingle::engine
