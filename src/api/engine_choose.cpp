// Which tokens come of a step's logits.
#include <algorithm>
#include <atomic>

#include "api/engine_core.h"

namespace ingle {

// With jump_ahead what the grammar forces is not sampled; it is computed a token a step all the same.
Answer::Step EngineCore::next_of(Live& live, std::span<const float> logits) const {
  Answer& a = *live.answer;
  const bool room = live.known() < options_.context;
  if (!a.options().jump_ahead) return a.next(logits, logits, live.sampler, room);
  if (!a.constrained()) {
    const bool in_grammar = a.constrained(false);
    Answer::Step step = a.next(logits, logits, live.sampler, room);
    if (step.kept && in_grammar && a.constrained(false)) live.given.push_back(step.event.id);
    return step;
  }
  if (live.forced.empty()) {
    live.forced = a.forced_tokens(live.given, options_.context - live.known());
    std::reverse(live.forced.begin(), live.forced.end());
  }
  TokenId id = -1;
  if (live.forced.empty()) {
    id = *a.choose(logits, live.sampler, true);
  } else {
    id = live.forced.back();
    live.forced.pop_back();
  }
  live.sampler.accept(id);
  Answer::Taken taken = a.take(id, logits, room);
  if (taken.kept) live.given.push_back(id);
  const bool kept = taken.kept;
  return {a.tell(std::move(taken)), kept};
}

void EngineCore::choose(Choice& c) const noexcept {
  Live& live = *c.part->live;
  try {
    c.step = next_of(live, c.logits);
  } catch (...) {
    c.error = std::current_exception();
  }
}

// Rows of a large vocabulary take long enough to be shared among the model's threads. A host's own stages are
// called on this thread.
void EngineCore::choose_all() {
  constexpr size_t kWorthIt = 1 << 16;  // values
  const bool shared = choices_.size() > 1 && choices_.size() * choices_[0].logits.size() >= kWorthIt;
  if (shared) {
    std::atomic<size_t> next{0};
    model_.impl()->runtime->pool->run([&](int) {
      for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < choices_.size();)
        if (!choices_[i].part->live->calls_host) choose(choices_[i]);
    });
  }
  for (Choice& c : choices_)
    if (!shared || c.part->live->calls_host) choose(c);
}

}  // namespace ingle
