// A plan: what a model computes in a step, as data. Made once by graph/, run by a backend over ragged
// batches.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/ops.h"
#include "formats/checkpoint.h"
#include "kv/state.h"

namespace ingle::backends {

struct PlanBuffer {
  int64_t width = 0;  // f32 values per token
};

// A matrix [rows, cols] out of a tensor of the checkpoint; read and packed by the backend when it prepares.
struct PlanWeight {
  const formats::TensorInfo* tensor = nullptr;
  int64_t rows = 0, cols = 0;
  std::vector<int64_t> source_rows;  // row i is the slice's row source_rows[i]; empty: row start + i * step
  int64_t start = 0, step = 1;
  // The slice: so many of the tensor's rows (all dimensions but the last make rows), from first_row on; 0:
  // all.
  int64_t first_row = 0, slice_rows = 0;
  bool transposed = false;  // the slice holds columns: row i is its column, by the rule above

  int64_t source_row(int64_t i) const {
    return source_rows.empty() ? start + i * step : source_rows[static_cast<size_t>(i)];
  }
  // Are the rows those of the slice, in its order?
  bool in_order() const { return transposed || (source_rows.empty() && start == 0 && step == 1); }
};
// A vector of f32 values (norm weights, biases), decoded when the plan is made.
struct PlanVector {
  std::vector<float> values;
};
// A rotation: pair i of a head turns by position * inverse_frequency[i]; the result is times `magnitude`.
struct PlanRotation {
  std::vector<double> inverse_frequency;
  double magnitude = 1;
  // What a pass that ends past `trained` tokens turns by instead (Slice::pass_end): `when_long`, or where
  // that is empty and ntk_factor is not 0, the frequencies of a base that grows with the pass (dynamic NTK).
  int64_t trained = 0;
  std::vector<double> when_long;
  double theta = 0, ntk_factor = 0;
  bool operator==(const PlanRotation&) const = default;
};

// Where values can be read from within a step: the rows of a buffer as they stand before an op, normed.
struct PlanPoint {
  size_t op = 0;
  Id buffer = kNone;
  NormSpec norm;
};

struct Plan {
  formats::CheckpointPtr checkpoint;
  std::vector<Op> ops;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanWeight> weights;
  std::vector<PlanVector> vectors;
  std::vector<PlanRotation> rotations;
  std::vector<kv::PartSpec> parts;
  // The residual stream before each layer and after the last, then what the head makes logits of; or none.
  std::vector<PlanPoint> points;
  int64_t n_vocab = 0;
  int64_t n_context = 0;    // what the model was trained for
  int64_t n_positions = 0;  // there are no positions from here on; 0: no end
};
using PlanPtr = std::shared_ptr<const Plan>;

}  // namespace ingle::backends
