// The engine without threads: one owner calls it, gives it the time, and takes the events. Plans come from
// the scheduler; here they meet the state, the model and the answers.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/answer.h"
#include "engine/metrics.h"
#include "engine/scheduler.h"
#include "ingle/engine.hpp"
#include "kv/prefix_index.h"

namespace ingle {

// A request made ready by the thread that submits it.
struct PreparedRequest {
  RequestId id = 0;
  std::vector<TokenId> tokens;
  std::unique_ptr<Answer> answer;
  Sampler sampler;
  int32_t band = 1;
  uint64_t tenant = 0;
  std::string salt;
  double submitted = 0, deadline = 0;  // by the engine's clock; a deadline of 0 is none
  double keep = 0;                     // seconds
  bool calls_host = false;             // its sampler has stages of the host's own
};

// For tests: a clock that is no clock, and steps that go wrong.
struct EngineHooks {
  std::function<double()> clock;  // seconds; null: the machine's
  // May change what came of each slice, and let modelled time pass.
  std::function<void(std::span<const backends::Slice>, std::span<backends::StepStatus>)> after_step;
};

// What there is to tell, as plain data that another thread may have a copy of.
struct EngineSnapshot {
  engine::Metrics metrics;
  int64_t preemptions = 0, running = 0, waiting = 0, waiting_tokens = 0;
  uint64_t state_bytes = 0, state_budget_bytes = 0;
  double estimated_wait = 0;
  kv::PrefixStats prefixes;

  EngineStats told() const;
};

class EngineCore {
 public:
  EngineCore(const Model& model, const EngineOptions& options, EngineHooks hooks);
  double now() const { return hooks_.clock(); }
  // Checked values, with zeros replaced.
  const EngineOptions& options() const { return options_; }
  // Code::out_of_memory when the budget can never hold it.
  void check_fits(int64_t prompt, int64_t max_tokens) const;

  // Room for all that these requests, and those that are there, can have to say until the owner takes the
  // events: what comes then can end a request, but not lose its end. Throws with nothing changed.
  void expect(size_t n_requests);
  void submit(PreparedRequest request);
  void cancel(RequestId id);
  void pause(bool paused) { scheduler_.pause(paused); }
  // Plans a step and carries it out. What fails ends the request that it belongs to; what throws leaves
  // fail_all() to be called. `target`: seconds that it should stay below; 0: the options' own.
  void step(double target);
  void fail_all(const Error& error) noexcept;
  const Error& no_memory() const { return *no_memory_; }  // made beforehand
  // Ends all without an event; a step that runs on another thread ends soon.
  void stop() noexcept { stopping_ = true; }

  bool has_work() const { return !slots_.empty(); }
  std::vector<EngineEvent>& events() { return events_; }  // the owner takes them out
  void snapshot(EngineSnapshot& out) const;
  // A request that could not even be taken in ends with an event that says so.
  void refuse(RequestId id, const Error& error);

 private:
  struct Live {
    explicit Live(PreparedRequest&& r);
    RequestId id;
    engine::Slot slot = engine::kNoSlot;
    std::vector<TokenId> tokens;  // prompt and answer
    int64_t n_prompt;
    std::unique_ptr<Answer> answer;
    Sampler sampler;
    std::string salt;
    std::optional<kv::SequenceState> state;
    int64_t computed_once = 0;  // tokens that were ever computed: what comes after a preemption is not new
    int denied = 0;             // steps in a row for which there was no memory
    double submitted, admitted = -1, first_token = -1, last_token = -1;
    double keep;
    bool calls_host;
    std::vector<TokenId> given;   // under the grammar, where jump_ahead needs them
    std::vector<TokenId> forced;  // to come without sampling, the next one last

    int64_t known() const { return static_cast<int64_t>(tokens.size()); }
    int64_t computed() const { return state ? state->length() : 0; }
  };
  // A slice of the plan that takes part in the step.
  struct Part {
    size_t result;  // its index among the plan's slices
    Live* live;
    int64_t n;
    bool samples;
  };
  // A row of logits, and the token that comes of it.
  struct Choice {
    const Part* part;
    std::span<const float> logits;
    Answer::Step step;
    std::exception_ptr error;
  };

  Live* at(engine::Slot slot) { return live_[static_cast<size_t>(slot)].get(); }
  void follow(engine::NewRequest& n, const Live& live) const;
  void begin(Live& live);
  bool reuse(Live& live);
  void open_index();
  void keep(Live& live, double seconds = 0) noexcept;
  kv::PrefixKey key_of(const Live& live) const { return {live.salt, {}}; }
  int64_t slice_length(const Live& live, int64_t planned) const;
  void take_part(const engine::PlannedSlice& slice, size_t index);
  bool make_room(const engine::Plan& plan);
  bool run();
  void settle_all();
  void settle(const Part& part, backends::StepStatus status, std::span<const float> logits);
  void choose(Choice& choice) const noexcept;
  Answer::Step next_of(Live& live, std::span<const float> logits) const;
  void choose_all();
  void deliver(Choice& choice);
  void emit(Live& live, TokenEvent event);
  TokenEvent last_event(Live& live, Finish how) noexcept;
  std::shared_ptr<const Error> shared(const Error& error) const noexcept;
  void end(engine::Slot slot, Finish how);  // with what was held back
  void fail_with(engine::Slot slot, const Error& error);
  void forget(engine::Slot slot) noexcept;
  void denied(Live& live, engine::SliceResult& result, const Error& error);

  Model model_;
  EngineOptions options_;
  EngineHooks hooks_;
  const backends::Plan* plan_;
  engine::Runner* runner_;
  bool turns_by_length_ = false;  // a rotation that depends on the length of a pass
  std::shared_ptr<kv::StatePool> pool_;
  std::unique_ptr<kv::PrefixIndex> index_;  // null: nothing is kept
  engine::SchedulerOptions schedule_;
  engine::Scheduler scheduler_;
  std::vector<std::unique_ptr<Live>> live_;  // [slot]
  std::unordered_map<RequestId, engine::Slot> slots_;
  std::vector<EngineEvent> events_;
  engine::Metrics metrics_;
  std::atomic<bool> stopping_{false};
  // For an error that there is no memory for.
  std::shared_ptr<const Error> no_memory_ =
      std::make_shared<const Error>(Code::out_of_memory, "engine", "no memory is left");

  // Of the step that runs.
  std::vector<Part> parts_;
  std::vector<backends::Slice> slices_;
  std::vector<backends::StepStatus> status_;
  std::vector<float> logits_;
  std::vector<Choice> choices_;
  std::vector<engine::SliceResult> results_;
  double model_seconds_ = 0;
  int64_t most_tokens_;                  // of a step: fewer after one for which there was no memory
  int out_of_memory_ = 0, no_room_ = 0;  // steps in a row
};

}  // namespace ingle
