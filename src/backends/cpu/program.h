// The CPU program: the plan with its weights packed into the layout of the kernels that were chosen for them.
#pragma once
#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/cache/file.h"
#include "backends/plugin/plugin.h"
#include "backends/rows.h"
#include "kernels/matmul.h"
#include "kernels/scan.h"
#include "kernels/vec.h"

namespace ingle::backends {

// Columns of a gated feed-forward that one chunk makes, multiples of 32. Few rows wait for memory, and long
// chunks stream it; many rows want the chunk's values to stay in cache.
constexpr int64_t kFfnColumns = 128, kFfnColumnsOfFew = 1024, kFewRows = 8;
constexpr int64_t kPreciseBelow = 768;  // width of the residual stream
constexpr int64_t kHeadColumns = 256;   // logits that one chunk makes
constexpr size_t kMaxPhases = 10;       // of one op

// Tokens of one tile of attention: the more heads share a kv head, the fewer.
inline int64_t attend_tokens(const HeadShape& heads) {
  const int64_t group = heads.n_heads / heads.n_kv_heads;
  return group >= 512 ? 1 : std::min<int64_t>(kv::kPageTokens, 512 / group);
}

// Activations that feed matrix products: f32 rows, and their 8-bit form when a kernel wants it.
struct ActivationBuffer {
  Buffer memory;
  kernels::Activations view{};  // m = capacity; pointers into memory
  void allocate(const Allocator& allocator, int64_t max_rows, int64_t width, bool quantised);
  kernels::Activations rows(int64_t first, int64_t m, int64_t k) const;  // m rows from `first`, k wide
  float* row(int64_t r) const { return memory.as<float>() + r * view.ldf; }
  // Makes the 8-bit form of columns [column, column + n) of row r; column and n are multiples of 32.
  void quantise(const kernels::VecRow& vec, int64_t r, int64_t column, int64_t n, const float* values) const;
  // Columns of row r become, in both forms, what `from`'s 8-bit form of its row from_row leaves over of
  // `values`.
  void quantise_rest(const kernels::VecRow& vec, int64_t r, const ActivationBuffer& from, int64_t from_row,
                     int64_t column, int64_t n, const float* values) const;
};

// The slots of a step's tokens, sorted by expert: slot s of row r stands at `place[r * n_used + s]`, the
// places of expert e are [first[e], first[e + 1]).
struct ExpertSlots {
  Buffer logits, routes, shared_weight;  // f32 [max_tokens][…]
  std::vector<int32_t> place, first, active, cursor;
  ActivationBuffer in, inner;                    // a row per place
  ActivationBuffer in_rest, inner_rest;          // what 8 bits leave over, for the places in rest_places
  std::vector<int32_t> rest_places, rest_first;  // in ascending order; those of expert e, as above
  std::vector<int32_t> rest_of;                  // for each place, its rank in rest_places, or -1
  std::vector<int32_t> row_of, slot_of;          // for each place
  Buffer out;                                    // f32 [places][widest output]
};

struct WorkerScratch {
  Buffer matmul, matmul_rest, attend, columns;  // columns: gate and up of a chunk
  std::vector<const float*> q;                  // row pointers of an attention tile
  std::vector<float*> out;
  std::vector<float> sinks;
  std::vector<int64_t> first, last;
  std::vector<float> slopes;
  std::vector<double> frequencies;  // of one rotation, where they depend on the pass
};

struct CpuWorkspace final : Workspace {
  std::vector<Buffer> buffers;               // the plan's, f32 [max_tokens][width]
  ActivationBuffer hidden, inner;            // of the residual stream; of what o and down take
  ActivationBuffer hidden_rest, inner_rest;  // what their 8 bits leave over, for the rows in rest_rows
  std::vector<int32_t> rest_rows, rest_of;   // rows that need it; for each row its place in rest_rows, or -1
  Buffer k, v, projected;                    // f32 [max_tokens][…]
  ExpertSlots experts;
  std::vector<Buffer> cosines, sines;  // per rotation [max_tokens][pairs]
  std::vector<WorkerScratch> workers;
  struct alignas(64) Counter {
    std::atomic<int64_t> next{0};
  };
  std::vector<Counter> counters;  // one per phase of a step: chunks taken so far
  BatchRows rows;
  std::atomic<bool> stop{false};
  std::atomic<bool> given_up{false};  // a worker has left chunks undone: the step is worth nothing
  uint64_t n_steps = 0;
  int64_t max_tokens = 0;
  uint64_t total_bytes = 0;
  uint64_t bytes() const override { return total_bytes; }
};

uint64_t bytes_of(const PlanWeight& w);  // of its tensor, those that the weight takes

class CpuProgram final : public Program {
 public:
  // `plugin`, which may be null, runs the products.
  CpuProgram(const BackendContext& context, PlanPtr plan, const PrepareOptions& options,
             std::shared_ptr<const Plugin> plugin);
  const Plan& plan() const override { return *plan_; }
  bool gives_points() const override { return true; }
  uint64_t weight_bytes() const override;
  std::string kernels() const override;
  bool cached() const override { return cached_; }
  std::unique_ptr<Workspace> make_workspace(int64_t max_tokens, int64_t max_wanted,
                                            int64_t max_slices) const override;
  void run(Workspace& workspace, const Batch& batch) const noexcept override;

  const kernels::PackedWeight& packed(Id weight) const { return *packed_[static_cast<size_t>(weight)]; }
  const float* vector(Id id) const {
    return id == kNone ? nullptr : plan_->vectors[static_cast<size_t>(id)].values.data();
  }
  const kernels::VecRow& vec() const { return *vec_; }
  const kernels::ScanRow& scan() const { return *scan_; }
  ThreadPool& pool() const { return *context_.pool; }
  // Are all activations taken with 16 bits? So it is for the smallest models, whose logits 8 bits blur too
  // much.
  bool precise() const { return precise_; }
  // A row is taken with 16 bits, in two 8-bit passes, when the model is precise, or when it is a sequence's
  // first: every later token attends to it, and its activations are the largest there are ("massive
  // activations", Sun et al., arXiv:2402.17762), so its rounding would stand in every logit. This depends on
  // nothing but the model and the position, so results stay independent of the batch.
  bool needs_rest(const BatchRow& row) const { return precise_ || row.position == 0; }
  void embed(Id table, int32_t token, float* out) const;
  const Plugin& plugin() const { return *plugin_; }
  // An op of the plan that the plug-in runs, on rows: y's from x's and x2's, `runs` to a row of the buffers.
  struct PluggedOp {
    ingle_backend_op op{};
    Id x = kNone, x2 = kNone, y = kNone;
    int64_t runs = 1;
  };
  const PluggedOp* plugged(size_t op) const {
    return op < plugged_.size() && plugged_[op] ? &*plugged_[op] : nullptr;
  }

 private:
  void choose_kernel(size_t weight);  // all of packed_[weight] but its data
  void pack(size_t weight, const std::function<bool(int64_t)>& packed_bytes, bool sizes_only);
  // What a file of the packed weights of products looks like; nothing where none is to be kept.
  std::optional<CacheLayout> cache_layout(const PrepareOptions& options) const;
  void take_from_cache(const CacheLayout& layout);
  bool keep_in_cache(const CacheLayout& layout, const std::function<bool(int64_t)>& written) const;
  void pack_by_plugin(size_t weight, const char* op, const std::function<bool(int64_t)>& packed_bytes);
  std::optional<PluggedOp> describe(const Op& op) const;
  void ask_for_ops();
  std::vector<const char*> weights_of_products() const;  // the op of each; null: of none
  void check_banks() const;
  void make_slots(CpuWorkspace& ws, int64_t max_tokens, int64_t rest_rows, bool quantised) const;
  BackendContext context_;
  PlanPtr plan_;
  const kernels::VecRow* vec_;
  const kernels::ScanRow* scan_;
  bool precise_ = false, cached_ = false;  // cached_: nothing had to be packed
  ByteSourcePtr cache_;  // mapped, where the weights came from it; before them, who stand in it
  std::vector<std::optional<kernels::PackedWeight>>
      packed_;                                 // empty: only rows are read, straight from the file
  std::vector<quant::QuantWeight> tables_;     // for those, the file's own blocks
  std::vector<std::vector<std::byte>> owned_;  // their bytes when the file is not mapped
  std::shared_ptr<const Plugin> plugin_;
  std::vector<std::unique_ptr<Plugin::Weight>> held_;  // by the plug-in, which outlives them
  std::vector<std::optional<PluggedOp>> plugged_;      // by op; empty without a plug-in that runs any
};

}  // namespace ingle::backends
