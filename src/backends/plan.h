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

// A tensor that had to be laid out anew (a transposed one) when the plan was made.
struct MadeTensor {
  DType type = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
};
using MadeTensorPtr = std::shared_ptr<const MadeTensor>;

// A matrix [rows, cols] out of a tensor of the checkpoint; read and packed by the backend when it prepares.
struct PlanWeight {
  const formats::TensorInfo* tensor = nullptr;
  int64_t rows = 0, cols = 0;
  std::vector<int64_t> source_rows;  // row i is the tensor's row source_rows[i]; empty: row i
  MadeTensorPtr made;                // read instead of the checkpoint's bytes, where not null
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

struct Plan {
  formats::CheckpointPtr checkpoint;
  std::vector<Op> ops;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanWeight> weights;
  std::vector<PlanVector> vectors;
  std::vector<PlanRotation> rotations;
  std::vector<kv::PartSpec> parts;
  int64_t n_vocab = 0;
  int64_t n_context = 0;    // what the model was trained for
  int64_t n_positions = 0;  // there are no positions from here on; 0: no end
};
// The bytes of a weight: a view of the checkpoint's mapping, of `scratch`, or of what was made.
inline TensorView view_of(const Plan& plan, const PlanWeight& weight, std::vector<std::byte>& scratch) {
  if (weight.made)
    return {weight.made->type, weight.made->shape, weight.made->bytes.data(), weight.made->bytes.size()};
  return plan.checkpoint->view(*weight.tensor, scratch);
}
using PlanPtr = std::shared_ptr<const Plan>;

}  // namespace ingle::backends
