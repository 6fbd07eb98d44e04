#include "graph/builder.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "quant/weight.h"

namespace ingle::graph {
namespace {

// Where canonical row i lies in the tensor.
int64_t source_row(const RowOrder& order, int64_t i) {
  if (order.rotated > 0) {
    const int64_t in_head = i % order.head_width, half = order.rotated / 2;
    const int64_t head = i - in_head;
    if (in_head < half)
      i = head + 2 * in_head;
    else if (in_head < order.rotated)
      i = head + 2 * (in_head - half) + 1;
  }
  if (order.stride > 0) i = i / order.run * order.stride + i % order.run;
  return order.first + i;
}

bool is_identity(const RowOrder& order) { return order.rotated == 0 && order.whole == 0; }

// Rows of the tensor that `rows` rows are taken from.
int64_t whole_rows(const TensorName& name, const RowOrder& order, int64_t rows) {
  if (order.whole == 0 && order.first == 0) return rows;
  const int64_t last =
      order.stride > 0 ? (rows - 1) / order.run * order.stride + (rows - 1) % order.run : rows - 1;
  if (order.first < 0 || last >= order.whole - order.first)
    fail(Code::internal, "graph builder, tensor " + name.gguf,
         format("{} rows from {} on are wanted out of {}", rows, order.first, order.whole));
  return order.whole;
}

bool turns_of(const quant::QuantFormat& f) {
  return f.dtype.block_elems == 1 && (f.dtype.block_bytes == 2 || f.dtype.block_bytes == 4);
}

}  // namespace

GraphBuilder::GraphBuilder(formats::CheckpointPtr checkpoint, kv::StateType state_type)
    : state_type_(state_type) {
  plan_.checkpoint = std::move(checkpoint);
}

const std::string& GraphBuilder::pick(const TensorName& name) const {
  return checkpoint().naming() == formats::Naming::gguf ? name.gguf : name.hugging_face;
}

const formats::TensorInfo* GraphBuilder::lookup(const TensorName& name) const {
  const std::string& wanted = pick(name);
  if (wanted.empty()) return nullptr;
  if (const formats::TensorInfo* tensor = checkpoint().find(wanted)) return tensor;
  const size_t dot = wanted.find('.');
  if (checkpoint().naming() != formats::Naming::hugging_face || dot == wanted.npos) return nullptr;
  return checkpoint().find(std::string_view(wanted).substr(dot + 1));
}

bool GraphBuilder::has(const TensorName& name) const { return lookup(name) != nullptr; }

int64_t GraphBuilder::rows_of(const TensorName& name) const {
  const formats::TensorInfo* tensor = lookup(name);
  if (!tensor) fail(Code::corrupt, checkpoint().name(), format("tensor '{}' is missing", pick(name)));
  return tensor->shape.rows();
}

const formats::TensorInfo& GraphBuilder::claim(const TensorName& name, int64_t rows, int64_t cols) {
  const std::string& wanted = pick(name);
  const formats::TensorInfo* tensor = lookup(name);
  if (!tensor) fail(Code::corrupt, checkpoint().name(), format("tensor '{}' is missing", wanted));
  const std::string where = checkpoint().name() + ", tensor " + wanted;
  if (tensor->shape.rank() > 2 || tensor->shape.back() != cols || tensor->shape.rows() != rows) {
    const Shape expected = rows == 1 ? Shape{cols} : Shape{rows, cols};
    fail(Code::corrupt, where, format("has shape {}, expected {}", tensor->shape.text(), expected.text()));
  }
  check_type(*tensor);
  claimed_.insert(tensor);
  return *tensor;
}

const formats::TensorInfo& GraphBuilder::claim(const TensorName& name, const Shape& shape) {
  const std::string& wanted = pick(name);
  const formats::TensorInfo* tensor = lookup(name);
  if (!tensor) fail(Code::corrupt, checkpoint().name(), format("tensor '{}' is missing", wanted));
  if (tensor->shape != shape)
    fail(Code::corrupt, checkpoint().name() + ", tensor " + wanted,
         format("has shape {}, expected {}", tensor->shape.text(), shape.text()));
  check_type(*tensor);
  claimed_.insert(tensor);
  return *tensor;
}

void GraphBuilder::check_type(const formats::TensorInfo& tensor) const {
  if (const quant::QuantFormat* f = quant::find_format(tensor.type); !f || !f->decode_rows)
    fail(Code::unsupported, checkpoint().name() + ", tensor " + tensor.name,
         format("has type {}, which holds no weights", f ? f->name : std::string_view("unknown")));
}

bool GraphBuilder::turns(const TensorName& name) const {
  const formats::TensorInfo* tensor = lookup(name);
  const quant::QuantFormat* f = tensor ? quant::find_format(tensor->type) : nullptr;
  return f && turns_of(*f);
}

void GraphBuilder::check_turns(const formats::TensorInfo& tensor) const {
  const quant::QuantFormat* f = quant::find_format(tensor.type);
  if (!turns_of(*f))
    fail(Code::unsupported, checkpoint().name() + ", tensor " + tensor.name,
         format("is stored transposed, which {} cannot be: its elements do not stand alone", f->name));
}

Id GraphBuilder::matrix(const TensorName& name, int64_t rows, int64_t cols, RowOrder order) {
  const int64_t whole = whole_rows(name, order, rows);
  const formats::TensorInfo& tensor = order.transposed ? claim(name, cols, whole) : claim(name, whole, cols);
  if (order.transposed) check_turns(tensor);
  backends::PlanWeight weight;
  weight.transposed = order.transposed;
  weight.tensor = &tensor;
  weight.rows = rows;
  weight.cols = cols;
  if (!is_identity(order)) {
    weight.source_rows.resize(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) weight.source_rows[static_cast<size_t>(i)] = source_row(order, i);
  }
  // Tied embeddings: the same tensor in the same order is one weight.
  for (size_t i = 0; i < plan_.weights.size(); ++i) {
    const backends::PlanWeight& w = plan_.weights[i];
    if (w.tensor == &tensor && w.rows == rows && w.slice_rows == 0 && w.transposed == weight.transposed &&
        w.source_rows == weight.source_rows)
      return static_cast<Id>(i);
  }
  return add(std::move(weight));
}

Id GraphBuilder::add(backends::PlanWeight weight) {
  plan_.weights.push_back(std::move(weight));
  return static_cast<Id>(plan_.weights.size() - 1);
}

Id GraphBuilder::part(const TensorName& name, const Shape& whole, int64_t rows, int64_t cols, Part part) {
  const formats::TensorInfo& tensor = claim(name, whole);
  backends::PlanWeight w;
  w.tensor = &tensor;
  w.rows = rows;
  w.cols = cols;
  w.source_rows = std::move(part.source_rows);
  w.start = part.start;
  w.step = part.step;
  w.first_row = part.first_row;
  w.slice_rows = part.slice_rows ? part.slice_rows : whole.rows();
  w.transposed = part.transposed;
  // Rows of the weight are rows of the slice, or columns of it.
  const int64_t most = w.transposed ? whole.back() : w.slice_rows;
  bool fits = w.first_row >= 0 && w.slice_rows <= whole.rows() - w.first_row && rows > 0 &&
              (w.transposed ? w.slice_rows : whole.back()) == cols &&
              (w.source_rows.empty() || static_cast<int64_t>(w.source_rows.size()) == rows);
  for (int64_t i = 0; fits && i < rows; ++i) fits = w.source_row(i) >= 0 && w.source_row(i) < most;
  if (!fits)
    fail(Code::internal, "graph builder, tensor " + tensor.name,
         format("[{}, {}] does not lie in {} as was said", rows, cols, whole.text()));
  if (w.transposed) check_turns(tensor);
  return add(std::move(w));
}

Id GraphBuilder::made_vector(std::vector<float> values) {
  plan_.vectors.push_back({std::move(values)});
  return static_cast<Id>(plan_.vectors.size() - 1);
}

std::vector<float> GraphBuilder::values(const TensorName& name, int64_t n) {
  return decoded(claim(name, 1, n));
}
std::vector<float> GraphBuilder::values(const TensorName& name, const Shape& shape) {
  return decoded(claim(name, shape));
}
std::vector<float> GraphBuilder::decoded(const formats::TensorInfo& tensor) const {
  std::vector<std::byte> scratch;
  const quant::QuantWeight w = quant::block_weight(checkpoint().view(tensor, scratch), tensor.name);
  std::vector<float> out(static_cast<size_t>(tensor.shape.elements()));
  w.format->decode_rows(w, 0, tensor.shape.rows(), out.data());
  return out;
}

std::vector<float> GraphBuilder::flat_values(const TensorName& name, int64_t n) {
  const formats::TensorInfo* tensor = lookup(name);
  if (!tensor || tensor->shape.elements() != n || tensor->shape.rank() < 2) return values(name, n);
  return decoded(claim(name, tensor->shape));
}

Id GraphBuilder::vector(const TensorName& name, int64_t n, RowOrder order, float plus) {
  const std::vector<float> stored = flat_values(name, whole_rows(name, order, n));
  backends::PlanVector vector{std::vector<float>(static_cast<size_t>(n))};
  for (int64_t i = 0; i < n; ++i)
    vector.values[static_cast<size_t>(i)] = stored[static_cast<size_t>(source_row(order, i))] + plus;
  plan_.vectors.push_back(std::move(vector));
  return static_cast<Id>(plan_.vectors.size() - 1);
}

Id GraphBuilder::find_vector(const TensorName& name, int64_t n, RowOrder order) {
  return has(name) ? vector(name, n, order) : kNone;
}

void GraphBuilder::leave_out(const TensorName& name) {
  if (const formats::TensorInfo* tensor = lookup(name)) claimed_.insert(tensor);
}

void GraphBuilder::leave_out_under(const TensorName& prefix) {
  for (const formats::TensorInfo& tensor : checkpoint().tensors())
    if (tensor.name.starts_with(pick(prefix))) claimed_.insert(&tensor);
}

Id GraphBuilder::buffer(int64_t width) {
  plan_.buffers.push_back({width});
  return static_cast<Id>(plan_.buffers.size() - 1);
}

Id GraphBuilder::rotation(backends::PlanRotation rotation) {
  for (size_t i = 0; i < plan_.rotations.size(); ++i)
    if (plan_.rotations[i] == rotation) return static_cast<Id>(i);
  plan_.rotations.push_back(std::move(rotation));
  return static_cast<Id>(plan_.rotations.size() - 1);
}

GraphBuilder::StateSlot GraphBuilder::state(kv::PartKind kind, const HeadShape& heads, int64_t window) {
  for (size_t i = 0; i < plan_.parts.size(); ++i) {
    kv::PartSpec& p = plan_.parts[i];
    if (p.kind == kind && p.n_kv_heads == heads.n_kv_heads && p.dk == heads.dk && p.dv == heads.dv &&
        p.window == window) {
      if (p.type == kv::StateType::q4) ++plan_.parts[i + 1].n_layers;
      return {static_cast<Id>(i), static_cast<int32_t>(p.n_layers++)};
    }
  }
  const auto id = static_cast<Id>(plan_.parts.size());
  plan_.parts.push_back({kind, state_type_, 1, heads.n_kv_heads, heads.dk, heads.dv, window});
  if (state_type_ == kv::StateType::q4)
    plan_.parts.push_back({kv::PartKind::tail, kv::StateType::f16, 1, heads.n_kv_heads, heads.dk, 0, 0});
  return {id, 0};
}

// Pairs that turn by less than a radian in this many tokens count as still: the largest biases are on those.
constexpr double kStillFor = 1000;

Id GraphBuilder::key_center(Id bias, Id rotation, const HeadShape& heads) {
  if (bias == kNone || state_type_ != kv::StateType::q8) return kNone;
  std::vector<float> center = plan_.vectors[static_cast<size_t>(bias)].values;
  if (rotation != kNone) {
    const std::vector<double>& turns = plan_.rotations[static_cast<size_t>(rotation)].inverse_frequency;
    const auto pairs = static_cast<int64_t>(turns.size());
    for (int64_t h = 0; h < heads.n_kv_heads; ++h)
      for (int64_t i = 0; i < 2 * pairs; ++i)
        if (turns[static_cast<size_t>(i % pairs)] * kStillFor >= 1)
          center[static_cast<size_t>(h * heads.dk + i)] = 0;
  }
  return made_vector(std::move(center));
}

GraphBuilder::StateSlot GraphBuilder::recurrent_state(int64_t n_heads, int64_t dk, int64_t dv) {
  for (size_t i = 0; i < plan_.parts.size(); ++i) {
    kv::PartSpec& p = plan_.parts[i];
    if (p.kind == kv::PartKind::recurrent && p.n_kv_heads == n_heads && p.dk == dk && p.dv == dv)
      return {static_cast<Id>(i), static_cast<int32_t>(p.n_layers++)};
  }
  plan_.parts.push_back({kv::PartKind::recurrent, kv::StateType::f32, 1, n_heads, dk, dv, 0});
  return {static_cast<Id>(plan_.parts.size() - 1), 0};
}

backends::Plan GraphBuilder::finish(int64_t n_vocab, int64_t n_context) {
  std::vector<std::string> unused;
  for (const formats::TensorInfo& t : checkpoint().tensors())
    if (!claimed_.contains(&t)) unused.push_back(t.name);
  if (!unused.empty()) {
    std::string list;
    for (size_t i = 0; i < std::min<size_t>(unused.size(), 5); ++i) list += (i ? ", " : "") + unused[i];
    if (unused.size() > 5) list += ", …";
    fail(Code::unsupported, checkpoint().name(),
         format("{} tensors have no place in this architecture: {}", unused.size(), list),
         "the file may hold a variant of the architecture that is not supported");
  }
  if (const auto* head = plan_.ops.empty() ? nullptr : std::get_if<op::Head>(&plan_.ops.back());
      head && !plan_.points.empty())
    plan_.points.push_back({plan_.ops.size() - 1, head->x, head->norm});
  plan_.n_vocab = n_vocab;
  plan_.n_context = n_context;
  return std::move(plan_);
}

}  // namespace ingle::graph
