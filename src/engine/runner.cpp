#include "engine/runner.h"

#include <algorithm>

namespace ingle::engine {

void Runner::step(const backends::Batch& batch) {
  int64_t tokens = 0, wanted = 0;
  const auto slices = static_cast<int64_t>(batch.slices.size());
  for (const backends::Slice& s : batch.slices) {
    tokens += static_cast<int64_t>(s.tokens.size());
    wanted += s.n_wanted;
  }
  const std::lock_guard lock(mutex_);
  if (tokens > max_tokens_ || wanted > max_wanted_ || slices > max_slices_) {
    const int64_t t = std::max(tokens, max_tokens_), w = std::max(wanted, max_wanted_),
                  n = std::max(slices, max_slices_);
    workspace_ = program_->make_workspace(t, w, n);
    max_tokens_ = t;
    max_wanted_ = w;
    max_slices_ = n;
  }
  program_->run(*workspace_, batch);
}

}  // namespace ingle::engine
