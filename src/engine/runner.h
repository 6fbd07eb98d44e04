// Runs steps of one program. Sessions of a model share a runner: its workspace is lent to one step at a time.
#pragma once
#include <memory>
#include <mutex>

#include "backends/backend.h"

namespace ingle::engine {

class Runner {
 public:
  explicit Runner(std::shared_ptr<const backends::Program> program) : program_(std::move(program)) {}
  const backends::Program& program() const { return *program_; }
  const backends::Plan& plan() const { return program_->plan(); }
  // The workspace grows to the largest step so far, before the step starts (Code::out_of_memory leaves it as
  // it was).
  void step(const backends::Batch& batch);
  // Grows the workspace ahead of time, for steps of so many tokens, rows of logits and slices.
  void make_room(int64_t tokens, int64_t wanted, int64_t slices);

 private:
  void grow(int64_t tokens, int64_t wanted, int64_t slices);  // under the mutex
  std::shared_ptr<const backends::Program> program_;
  std::mutex mutex_;
  std::unique_ptr<backends::Workspace> workspace_;
  int64_t max_tokens_ = 0, max_wanted_ = 0, max_slices_ = 0;
};

}  // namespace ingle::engine
