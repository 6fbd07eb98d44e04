// Builds a plan: claims each weight once, makes buffers, rotations and state parts, and takes ops in order.
// Claiming finds missing and unused tensors and wrong shapes in the same pass.
#pragma once
#include <string>
#include <unordered_set>
#include <vector>

#include "backends/plan.h"

namespace ingle::graph {

// One tensor under the names that each family of containers gives it. An empty name: the container has none.
struct TensorName {
  std::string gguf, hugging_face;
};

// How the rows of a tensor are ordered, against the canonical (Hugging Face) order.
struct RowOrder {
  // Rotated pairs of a head lie next to each other (2i, 2i + 1) instead of half a rotation apart (llama.cpp's
  // converter permutes Q and K of Llama's family so). `rotated` values of each `head_width` rows are
  // concerned.
  int64_t head_width = 0, rotated = 0;  // 0: as canonical
  // A part of a fused tensor: its first row, and how many rows the whole tensor has. Where the parts
  // alternate, `run` rows of this one come every `stride` rows.
  int64_t first = 0, whole = 0;  // whole = 0: not fused
  int64_t run = 0, stride = 0;   // stride = 0: in one piece
  bool transposed = false;       // stored as [in, out]
};

// A matrix inside a larger tensor.
struct Part {
  int64_t first_row = 0, slice_rows = 0;  // rows of the tensor that hold it; 0: all
  bool transposed = false;                // those rows are its columns
  int64_t start = 0, step = 1;            // row i is the slice's row (or column) start + i * step
  std::vector<int64_t> source_rows = {};  // or, where not empty, source_rows[i]
};

class GraphBuilder {
 public:
  GraphBuilder(formats::CheckpointPtr checkpoint, kv::StateType state_type);

  const formats::Checkpoint& checkpoint() const { return *plan_.checkpoint; }
  bool has(const TensorName& name) const;
  // Each throws an error naming the tensor when it is missing, has another shape, or cannot be decoded.
  Id matrix(const TensorName& name, int64_t rows, int64_t cols, RowOrder order = {});
  // `plus` is added to each value.
  Id vector(const TensorName& name, int64_t n, RowOrder order = {}, float plus = 0);
  // [rows, cols] out of a tensor of the given shape, in which several matrices lie.
  Id part(const TensorName& name, const Shape& whole, int64_t rows, int64_t cols, Part part);
  Id find_vector(const TensorName& name, int64_t n, RowOrder order = {});  // kNone when the tensor is absent
  Id made_vector(std::vector<float> values);                               // of the builder's own making
  std::vector<float> values(const TensorName& name, int64_t n);  // claimed, decoded, not kept in the plan
  // All of a tensor of n values in whatever shape.
  std::vector<float> flat_values(const TensorName& name, int64_t n);
  std::vector<float> values(const TensorName& name, const Shape& shape);
  bool turns(const TensorName& name) const;  // can its columns be taken as rows?
  void leave_out(
      const TensorName& name);  // claimed without use, for tensors that a container carries in vain
  void leave_out_under(const TensorName& prefix);  // all whose names begin so

  Id buffer(int64_t width);
  Id rotation(backends::PlanRotation rotation);  // equal ones share an id
  // A layer of attention state: layers of equal shape and window share a part.
  struct StateSlot {
    Id part;
    int32_t layer;
  };
  StateSlot state(kv::PartKind kind, const HeadShape& heads, int64_t window);
  // What keys have in common, for StoreKv: their bias, as far as a rotation leaves it where it is. kNone
  // without a bias, and where the state holds floats.
  Id key_center(Id bias, Id rotation, const HeadShape& heads);
  // The same of state that every token replaces: heads of [dk, dv] values.
  StateSlot recurrent_state(int64_t n_heads, int64_t dk, int64_t dv);
  void limit_positions(int64_t n) { plan_.n_positions = n; }
  // The residual stream, as it stands here: to be said before each layer and after the last one.
  void mark_stream(Id x) { plan_.points.push_back({plan_.ops.size(), x, {}}); }
  void emit(Op op) { plan_.ops.push_back(op); }
  int64_t rows_of(const TensorName& name) const;  // of a tensor that must be there

  // Throws naming the tensors that nobody claimed.
  backends::Plan finish(int64_t n_vocab, int64_t n_context);

 private:
  const std::string& pick(const TensorName& name) const;
  // By the container's name; in Hugging Face checkpoints also without its first part, since some were saved
  // from the inner model ("h.0.ln_1" for "transformer.h.0.ln_1").
  const formats::TensorInfo* lookup(const TensorName& name) const;
  const formats::TensorInfo& claim(const TensorName& name, int64_t rows, int64_t cols);
  const formats::TensorInfo& claim(const TensorName& name, const Shape& shape);
  std::vector<float> decoded(const formats::TensorInfo& tensor) const;
  void check_type(const formats::TensorInfo& tensor) const;
  void check_turns(const formats::TensorInfo& tensor) const;
  Id add(backends::PlanWeight weight);
  backends::Plan plan_;
  kv::StateType state_type_;
  std::unordered_set<const formats::TensorInfo*> claimed_;
};

}  // namespace ingle::graph
