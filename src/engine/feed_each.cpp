// One step for several sequences: each contributes a slice of one token.
#include <vector>

#include "core/error.h"
#include "engine/sequence.h"

namespace ingle::engine {

void Sequence::feed_each(std::span<Sequence* const> sequences, std::span<const int32_t> tokens,
                         std::span<backends::StepStatus> status) {
  const size_t n = sequences.size();
  if (tokens.size() != n || status.size() != n)
    fail(Code::invalid_argument, "feed",
         format("{} sequences, {} tokens, {} statuses", n, tokens.size(), status.size()));
  for (size_t i = 0; i < n; ++i) {
    sequences[i]->check_id(tokens[i]);
    if (sequences[i]->runner_ != sequences[0]->runner_)
      fail(Code::invalid_argument, "feed", "the sequences are of different models");
    for (size_t j = 0; j < i; ++j)
      if (sequences[i] == sequences[j])
        fail(Code::invalid_argument, "feed", "a sequence stands in a step twice");
  }
  if (n == 0) return;
  std::vector<backends::Slice> slices(n);
  std::vector<float*> logits(n);
  size_t reserved = 0;
  try {
    for (; reserved < n; ++reserved) {
      Sequence& s = *sequences[reserved];
      s.begin_pass(1);
      s.make_room(1);
      s.catch_up({});
      s.state_.reserve(1);
      slices[reserved] = {&s.state_, s.length(), tokens.subspan(reserved, 1), 1, s.pass_end_};
      logits[reserved] = s.fresh_.data();
    }
    backends::Batch batch{slices, status};
    batch.logit_rows = logits.data();
    sequences[0]->runner_->step(batch);
  } catch (...) {
    for (size_t i = 0; i < reserved; ++i) sequences[i]->state_.commit(0);
    throw;
  }
  for (size_t i = 0; i < n; ++i) {
    Sequence& s = *sequences[i];
    const bool ok = status[i] == backends::StepStatus::ok;
    s.state_.commit(ok ? 1 : 0);
    if (!ok) continue;
    s.tokens_.push_back(tokens[i]);
    std::swap(s.logits_, s.fresh_);
    s.has_logits_ = true;
  }
}

}  // namespace ingle::engine
