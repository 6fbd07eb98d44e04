// The reference program: weights as their file holds them, decoded row by row as they are used.
#pragma once
#include <vector>

#include "backends/backend.h"
#include "backends/rows.h"
#include "quant/weight.h"

namespace ingle::backends {

struct RefWorkspace final : Workspace {
  std::vector<Buffer> buffers;  // f32 [rows][width]
  std::vector<Buffer> decoded;  // one row of the widest weight, per worker
  BatchRows rows;
  std::vector<double> frequencies;  // of one rotation, where they depend on the pass
  uint64_t total_bytes = 0;
  uint64_t bytes() const override { return total_bytes; }
};

class RefProgram final : public Program {
 public:
  RefProgram(const BackendContext& context, PlanPtr plan, const PrepareOptions& options);
  const Plan& plan() const override { return *plan_; }
  bool gives_points() const override { return true; }
  uint64_t weight_bytes() const override { return 0; }  // nothing but the file's own pages
  std::string kernels() const override { return "ref (plain loops, float activations)"; }
  std::unique_ptr<Workspace> make_workspace(int64_t max_tokens, int64_t max_wanted,
                                            int64_t max_slices) const override;
  void run(Workspace& workspace, const Batch& batch) const noexcept override;

 private:
  friend struct RefStep;
  BackendContext context_;
  PlanPtr plan_;
  std::vector<quant::QuantWeight> weights_;
  std::vector<std::vector<std::byte>> owned_;  // bytes of weights whose file is not mapped
};

}  // namespace ingle::backends
