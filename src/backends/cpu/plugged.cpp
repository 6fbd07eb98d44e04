// What the cpu backend does when a plug-in runs its products: weights are handed over as they lie in the file
// or decoded to f32, and operations on rows are offered.
#include <cstring>

#include "backends/cpu/program.h"
#include "backends/cpu/step.h"
#include "backends/weights.h"
#include "core/checked_math.h"
#include "core/error.h"

namespace ingle::backends {
namespace {

// The rows of a weight without gaps, in its own order: those of the file, or a copy in `room`.
const void* gather_rows(const quant::QuantWeight& from, const PlanWeight& w, uint64_t row_bytes,
                        const Allocator& allocator, Buffer& room) {
  const std::byte* data = from.parts[0].data;
  if (w.in_order()) return data;
  room = Buffer(allocator, row_bytes * static_cast<uint64_t>(w.rows));
  for (int64_t r = 0; r < w.rows; ++r)
    std::memcpy(room.data() + static_cast<uint64_t>(r) * row_bytes,
                data + static_cast<uint64_t>(w.source_row(r)) * row_bytes, row_bytes);
  return room.data();
}

}  // namespace

void CpuProgram::pack_by_plugin(size_t i, const char* op, const std::function<bool(int64_t)>& packed_bytes) {
  const PlanWeight& w = plan_->weights[i];
  const std::string where = format("{}, backend {}, op '{}', tensor {}", plan_->checkpoint->name(),
                                   plugin_->name(), op, w.tensor->name);
  std::vector<std::byte> scratch;
  const quant::QuantWeight weight = open_weight(*plan_->checkpoint, w, scratch);
  const int32_t type = plugin_->matrix_type(*weight.format);
  const auto cols = static_cast<uint64_t>(w.cols), n_rows = static_cast<uint64_t>(w.rows);
  const std::optional<uint64_t> row_bytes = checked_mul(cols, type == INGLE_BACKEND_F32 ? 4 : 2);
  if (!row_bytes || !checked_mul(*row_bytes, n_rows))
    fail(Code::corrupt, where, format("{} rows of {} do not fit the memory", w.rows, w.cols));
  Buffer room;
  ingle_backend_matrix matrix{sizeof matrix, type, w.rows, w.cols, nullptr, w.tensor->name.c_str()};
  if (weight.format->name == plugin_->row(type).format) {
    matrix.data = gather_rows(weight, w, *row_bytes, context_.allocator, room);
  } else {  // no type of backend.h
    room = Buffer(context_.allocator, *row_bytes * n_rows);
    std::atomic<int64_t> next{0};
    context_.pool->run([&](int) {
      for (int64_t r; (r = next.fetch_add(1, std::memory_order_relaxed)) < w.rows;)
        weight.format->decode_rows(weight, w.in_order() ? r : w.source_row(r), 1,
                                   room.as<float>() + r * w.cols);
    });
    matrix.data = room.data();
  }
  held_.push_back(plugin_->prepare(matrix, where));
  kernels::PackedWeight out;
  out.row = &plugin_->row(type);
  out.format = weight.format;
  out.n = w.rows;
  out.k = w.cols;
  const void* held = held_.back().get();  // Plugin::multiply() finds it there
  out.data = Buffer(context_.allocator, sizeof held);
  std::memcpy(out.data.data(), &held, sizeof held);
  packed_[i] = std::move(out);
  for (const Op& o : plan_->ops)  // whose rows are read from the file
    if (const auto* embed = std::get_if<op::Embed>(&o); embed && embed->table == static_cast<Id>(i))
      tables_[i] = open_weight(*plan_->checkpoint, w, owned_[i]);
  if (!tables_[i].format) forget_weight(*plan_->checkpoint, w);
  if (!packed_bytes(static_cast<int64_t>(bytes_of(w))))
    fail(Code::cancelled, plan_->checkpoint->name(), "loading was cancelled");
}

std::optional<CpuProgram::PluggedOp> CpuProgram::describe(const Op& op) const {
  PluggedOp out;
  out.op.struct_size = sizeof out.op;
  const auto fill = [&](int32_t code, Id x, Id x2, Id y) {
    out.op.code = code;
    out.op.width = plan_->buffers[static_cast<size_t>(y)].width;
    out.x = x, out.x2 = x2, out.y = y;
  };
  if (const auto* o = std::get_if<op::Norm>(&op)) {
    if (o->norm.kind == NormKind::none) return {};
    fill(o->norm.kind == NormKind::rms ? INGLE_BACKEND_OP_RMS_NORM : INGLE_BACKEND_OP_LAYER_NORM, o->in,
         kNone, o->out);
    // Weights that differ from run to run are no operation on rows.
    for (const Id v : {o->norm.weight, o->norm.bias})
      if (v != kNone && static_cast<int64_t>(plan_->vectors[static_cast<size_t>(v)].values.size()) > o->group)
        return {};
    if (o->norm.kind == NormKind::rms && o->norm.bias != kNone) return {};
    out.runs = out.op.width / o->group;
    out.op.width = o->group;
    out.op.value = o->norm.eps;
    out.op.weight = vector(o->norm.weight);
    out.op.bias = vector(o->norm.bias);
    return out;
  }
  if (const auto* o = std::get_if<op::Glu>(&op)) {
    if (o->bound.limit > 0 || o->act > Activation::sigmoid) return {};
    fill(INGLE_BACKEND_OP_GLU, o->gate, o->up, o->out);
    out.op.act = static_cast<int32_t>(o->act);
    return out;
  }
  if (const auto* o = std::get_if<op::Activate>(&op)) {
    if (o->act > Activation::sigmoid) return {};
    fill(INGLE_BACKEND_OP_ACTIVATE, o->in, kNone, o->out);
    out.op.act = static_cast<int32_t>(o->act);
    return out;
  }
  if (const auto* o = std::get_if<op::Add>(&op)) {
    fill(INGLE_BACKEND_OP_ADD, o->a, o->b, o->out);
    return out;
  }
  if (const auto* o = std::get_if<op::Scale>(&op)) {
    fill(INGLE_BACKEND_OP_SCALE, o->in, kNone, o->out);
    out.op.value = o->factor;
    return out;
  }
  if (const auto* o = std::get_if<op::Softcap>(&op)) {
    fill(INGLE_BACKEND_OP_SOFTCAP, o->in, kNone, o->out);
    out.op.value = o->cap;
    return out;
  }
  return {};
}

void CpuProgram::ask_for_ops() {
  if (!plugin_->has_row_ops()) return;
  plugged_.resize(plan_->ops.size());
  for (size_t i = 0; i < plan_->ops.size(); ++i)
    if (std::optional<PluggedOp> offer = describe(plan_->ops[i]); offer && plugin_->takes(offer->op))
      plugged_[i] = *offer;
}

void CpuStep::run_plugged(const CpuProgram::PluggedOp& o) {
  const int64_t run = std::clamp<int64_t>(n / (4 * p.pool().size()), 1, 16);
  parallel(ceil_div(n, run), [&](int64_t c) {
    const int64_t first = c * run, count = std::min(run, n - first);
    const float* x2 = o.x2 == kNone ? nullptr : row(o.x2, first);
    const ingle_backend_rows rows{sizeof rows,
                                  0,
                                  count * o.runs,
                                  row(o.x, first),
                                  x2,
                                  row(o.y, first),
                                  width(o.x) / o.runs,
                                  x2 ? width(o.x2) / o.runs : 0,
                                  width(o.y) / o.runs};
    p.plugin().run_rows(o.op, rows, scratch().matmul.data());
  });
}

}  // namespace ingle::backends
