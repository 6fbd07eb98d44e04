#include "engine/runner.h"

#include <algorithm>

namespace ingle::engine {

// Two of them are there while it grows, so the first is made for logits too, though a prompt's first chunk
// wants none.
void Runner::grow(int64_t tokens, int64_t wanted, int64_t slices) {
  if (tokens <= max_tokens_ && wanted <= max_wanted_ && slices <= max_slices_) return;
  const int64_t t = std::max(tokens, max_tokens_), w = std::max({wanted, max_wanted_, int64_t{1}}),
                n = std::max(slices, max_slices_);
  workspace_ = program_->make_workspace(t, w, n);
  max_tokens_ = t;
  max_wanted_ = w;
  max_slices_ = n;
}

void Runner::make_room(int64_t tokens, int64_t wanted, int64_t slices) {
  const std::lock_guard lock(mutex_);
  grow(tokens, wanted, slices);
}

void Runner::step(const backends::Batch& batch) {
  int64_t tokens = 0, wanted = 0;
  for (const backends::Slice& s : batch.slices) {
    tokens += static_cast<int64_t>(s.tokens.size());
    wanted += s.n_wanted;
  }
  const std::lock_guard lock(mutex_);
  grow(tokens, wanted, static_cast<int64_t>(batch.slices.size()));
  program_->run(*workspace_, batch);
}

}  // namespace ingle::engine
