// What runs a plan. Everything is checked before a step starts; a step does not throw, and says per sequence
// how it went.
#pragma once
#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "backends/plan.h"
#include "core/checksum.h"
#include "core/cpu.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/threads.h"

namespace ingle::backends {

// The part of a batch that belongs to one sequence: its next tokens, at positions start … start + n - 1. The
// state has room reserved for them.
struct Slice {
  kv::SequenceState* state = nullptr;
  int64_t start = 0;
  std::span<const int32_t> tokens;
  int64_t n_wanted = 0;  // logits are wanted for the last n_wanted tokens
  // Where the tokens that were given together with these end; 0: with these. RoPE that depends on the length
  // of a pass takes this one, so that chunks change nothing.
  int64_t pass_end = 0;
};

enum class StepStatus : int32_t { ok = 0, cancelled = 1, numeric = 2, failed = 3 };

// Wanted from within a step: the rows of one of the plan's points, [tokens of the batch][width].
struct PointRows {
  size_t point = 0;
  float* rows = nullptr;
};

struct Batch {
  std::span<Slice> slices;
  std::span<StepStatus> status;               // one per slice, written by the step
  float* logits = nullptr;                    // [sum of n_wanted][n_vocab], in the order of the slices
  const std::atomic<bool>* cancel = nullptr;  // looked at between ops; all slices are then `cancelled`
  float* const* logit_rows = nullptr;         // when set, where each row of `logits` goes instead
  std::span<const PointRows> points;          // ascending; only of programs that give them

  float* logits_row(int64_t r, int64_t n_vocab) const {
    return logit_rows ? logit_rows[r] : logits + r * n_vocab;
  }
};

// Memory of one thread of steps: activations for up to max_tokens tokens. Reused from step to step.
class Workspace {
 public:
  virtual ~Workspace() = default;
  virtual uint64_t bytes() const = 0;
};

// A plan made ready: weights packed. Immutable, shared by any number of workspaces and threads.
class Program {
 public:
  virtual ~Program() = default;
  virtual const Plan& plan() const = 0;
  virtual uint64_t weight_bytes() const = 0;
  virtual std::string kernels() const = 0;  // which kernels the weights got, "q4_k_…: 168 matrices; …"
  virtual bool cached() const { return false; }        // were the packed weights found in the cache?
  virtual bool gives_points() const { return false; }  // Batch::points
  virtual std::unique_ptr<Workspace> make_workspace(int64_t max_tokens, int64_t max_wanted,
                                                    int64_t max_slices) const = 0;
  // The batch fits the workspace (max_tokens in all, max_wanted logits in all, max_slices sequences).
  virtual void run(Workspace& workspace, const Batch& batch) const noexcept = 0;
};

struct PrepareOptions {
  std::function<bool(float fraction)> progress;  // returns false to cancel (Code::cancelled)
  bool sizes_only = false;  // memory is asked for, but no weight is packed: the program must not run
  Digest content{};         // tells the checkpoint's values from those of others with the same shapes
};

// Where packed weights are kept from one load to the next (cache/folder.h); nowhere by default.
struct CacheSettings {
  std::string folder;
  uint64_t max_bytes = 0;    // of all files
  uint64_t least_bytes = 0;  // what is smaller is packed anew each time
};

// What a backend works with; it outlives everything that the backend makes.
struct BackendContext {
  Allocator allocator = system_allocator();
  ThreadPool* pool = nullptr;
  CpuFeatures cpu;
  std::string forced_kernel;  // "" or a kernel row or ISA by name
  LogSink log;                // may be empty
  std::string plugin_folder;  // where plug-ins lie; empty: beside the library
  CacheSettings cache;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual kv::StateType default_state_type() const = 0;
  virtual bool takes(const Op& op) const = 0;  // as it is; otherwise graph/expand.h gives plain ops
  virtual std::unique_ptr<Program> prepare(PlanPtr plan, const PrepareOptions& options) const = 0;
};

// By name: "cpu", "ref", "null", or a plug-in's ("openblas", "plugin:/path/to/library.so"), which is loaded.
// Throws Code::not_found saying what was looked for and where; for plug-ins also what Plugin::load throws.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendContext& context);

}  // namespace ingle::backends
