// What an engine tells of itself: a copy of its numbers, and those as the public struct has them.
#include "api/engine_core.h"

namespace ingle {

void EngineCore::snapshot(EngineSnapshot& out) const {
  out.metrics = metrics_;
  out.preemptions = scheduler_.preemptions();
  out.running = scheduler_.n_running();
  out.waiting = scheduler_.n_waiting();
  out.waiting_tokens = scheduler_.queued_tokens();
  out.state_bytes = pool_->bytes_in_use();
  out.state_budget_bytes = pool_->budget_bytes();
  out.estimated_wait = scheduler_.estimated_wait();
  if (index_) out.prefixes = index_->stats();
}

EngineStats EngineSnapshot::told() const {
  const auto of = [](const engine::Counts& c) {
    return Histogram{
        {c.bounds().begin(), c.bounds().end()}, {c.counts().begin(), c.counts().end()}, c.sum(), c.count()};
  };
  EngineStats s;
  s.finished = metrics.finished;
  s.prompt_tokens = metrics.prompt_tokens;
  s.cached_tokens = metrics.cached_tokens;
  s.generated_tokens = metrics.generated_tokens;
  s.recomputed_tokens = metrics.recomputed_tokens;
  s.steps = metrics.steps;
  s.preemptions = preemptions;
  s.running = running;
  s.waiting = waiting;
  s.waiting_tokens = waiting_tokens;
  s.state_bytes = state_bytes;
  s.state_budget_bytes = state_budget_bytes;
  s.estimated_wait_s = estimated_wait;
  s.prefix_bytes = prefixes.bytes;
  s.prefix_blocks = static_cast<int64_t>(prefixes.blocks);
  s.prefix_spilled = static_cast<int64_t>(prefixes.blocks_spilled);
  s.prefix_loaded = static_cast<int64_t>(prefixes.blocks_loaded);
  s.prefix_evictions = static_cast<int64_t>(prefixes.blocks_evicted);
  s.queue = of(metrics.queue);
  s.first_token = of(metrics.first_token);
  s.between_tokens = of(metrics.between_tokens);
  s.prefill = of(metrics.prefill);
  s.decode = of(metrics.decode);
  s.end_to_end = of(metrics.end_to_end);
  s.step = of(metrics.step);
  s.host = of(metrics.host);
  s.step_tokens = of(metrics.step_tokens);
  s.prompt_length = of(metrics.prompt_length);
  s.generated_length = of(metrics.generated_length);
  return s;
}

}  // namespace ingle
