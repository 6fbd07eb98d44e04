#include "backends/null/null.h"

#include <algorithm>

namespace ingle::backends {
namespace {

class NullWorkspace final : public Workspace {
 public:
  uint64_t bytes() const override { return 0; }
};

class NullProgram final : public Program {
 public:
  explicit NullProgram(PlanPtr plan) : plan_(std::move(plan)) {}
  const Plan& plan() const override { return *plan_; }
  uint64_t weight_bytes() const override { return 0; }
  std::string kernels() const override { return "none"; }
  std::unique_ptr<Workspace> make_workspace(int64_t, int64_t, int64_t) const override {
    return std::make_unique<NullWorkspace>();
  }
  void run(Workspace&, const Batch& batch) const noexcept override {
    int64_t wanted = 0;
    for (const Slice& s : batch.slices) wanted += s.n_wanted;
    for (int64_t r = 0; r < wanted; ++r)
      std::fill_n(batch.logits_row(r, plan_->n_vocab), plan_->n_vocab, 0.0f);
    std::fill(batch.status.begin(), batch.status.end(), StepStatus::ok);
  }

 private:
  PlanPtr plan_;
};

class NullBackend final : public Backend {
 public:
  std::string_view name() const override { return "null"; }
  kv::StateType default_state_type() const override { return kv::StateType::f16; }
  bool takes(const Op&) const override { return true; }
  std::unique_ptr<Program> prepare(PlanPtr plan, const PrepareOptions&) const override {
    return std::make_unique<NullProgram>(std::move(plan));
  }
};

}  // namespace

std::unique_ptr<Backend> make_null_backend(const BackendContext&) { return std::make_unique<NullBackend>(); }

}  // namespace ingle::backends
