#include "engine/runner.h"

#include <algorithm>

namespace ingle::engine {

void Runner::step(const backends::Batch& batch) {
  int64_t tokens = 0, wanted = 0;
  for (const backends::Slice& s : batch.slices) {
    tokens += static_cast<int64_t>(s.tokens.size());
    wanted += s.n_wanted;
  }
  const std::lock_guard lock(mutex_);
  if (tokens > max_tokens_ || wanted > max_wanted_) {
    const int64_t t = std::max(tokens, max_tokens_), w = std::max(wanted, max_wanted_);
    auto larger = program_->make_workspace(t, w);
    workspace_ = std::move(larger);
    max_tokens_ = t;
    max_wanted_ = w;
  }
  program_->run(*workspace_, batch);
}

}  // namespace ingle::engine
