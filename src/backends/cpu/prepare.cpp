// Packing of weights, and the memory that steps work in.
#include <algorithm>
#include <cstring>
#include <map>

#include "backends/cpu/cpu.h"
#include "backends/cpu/program.h"
#include "backends/route.h"
#include "backends/weights.h"
#include "core/checked_math.h"
#include "core/error.h"

namespace ingle::backends {
namespace {

// Calls f for each product's weight of an op.
template <class F>
void each_product(const Op& op, F f) {
  const auto bank = [&](const BankSpec& b) {
    for (int32_t i = 0; i < b.count; ++i) f(LinearSpec{b.weight + i, kNone});
  };
  const auto linear = [&](const LinearSpec& w) {
    if (w.weight != kNone) f(w);
  };
  std::visit(
      [&](const auto& o) {
        using T = std::decay_t<decltype(o)>;
        if constexpr (std::is_same_v<T, op::AttentionInput>) f(o.wq), f(o.wk), f(o.wv);
        if constexpr (std::is_same_v<T, op::ProjectResidual> || std::is_same_v<T, op::Head> ||
                      std::is_same_v<T, op::Linear>)
          f(o.w);
        if constexpr (std::is_same_v<T, op::GatedFfn>) f(o.gate), f(o.up), f(o.down);
        if constexpr (std::is_same_v<T, op::HeadLinear> || std::is_same_v<T, op::ExpertLinear>) bank(o.w);
        if constexpr (std::is_same_v<T, op::Moe>) {
          bank(o.gate), bank(o.up), bank(o.down);
          for (const LinearSpec& w : {o.router, o.shared_gate, o.shared_up, o.shared_down, o.shared_weight})
            linear(w);
        }
      },
      op);
}

// Calls f for each bank of an op.
template <class F>
void each_bank(const Op& op, F f) {
  if (const auto* h = std::get_if<op::HeadLinear>(&op)) f(h->w);
  if (const auto* x = std::get_if<op::ExpertLinear>(&op)) f(x->w);
  if (const auto* m = std::get_if<op::Moe>(&op)) {
    if (m->gate.weight != kNone) f(m->gate);
    f(m->up), f(m->down);
  }
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const BackendContext& context, std::shared_ptr<const Plugin> plugin)
      : context_(context), plugin_(std::move(plugin)) {}
  std::string_view name() const override { return plugin_ ? plugin_->name() : "cpu"; }
  kv::StateType default_state_type() const override { return kv::StateType::f16; }
  bool takes(const Op& op) const override {
    // Operations on rows are seen by a plug-in when they stand alone.
    if (plugin_ && plugin_->has_row_ops() && op.index() > Op(op::Output{}).index() &&
        !std::holds_alternative<op::Head>(op))
      return false;
    return !std::holds_alternative<op::GatherWanted>(op) && !std::holds_alternative<op::Output>(op) &&
           !std::holds_alternative<op::Mla>(op);
  }
  std::unique_ptr<Program> prepare(PlanPtr plan, const PrepareOptions& options) const override {
    for (const Op& op : plan->ops)
      if (!takes(op))
        fail(Code::unsupported, format("backend {}", name()),
             format("does not run the op '{}'", op_name(op)));
    for (const Op& op : plan->ops) {
      if (const auto* r = std::get_if<op::Route>(&op)) check_router(r->router);
      if (const auto* m = std::get_if<op::Moe>(&op)) check_router(m->route);
    }
    return std::make_unique<CpuProgram>(context_, std::move(plan), options, plugin_);
  }

 private:
  BackendContext context_;
  std::shared_ptr<const Plugin> plugin_;
};

}  // namespace

uint64_t bytes_of(const PlanWeight& w) {
  const auto all = static_cast<uint64_t>(std::max<int64_t>(1, w.tensor->shape.elements()));
  return static_cast<uint64_t>(static_cast<double>(w.tensor->bytes) / static_cast<double>(all) *
                               static_cast<double>(w.rows * w.cols));
}

std::unique_ptr<Backend> make_cpu_backend(const BackendContext& context) {
  return std::make_unique<CpuBackend>(context, nullptr);
}
std::unique_ptr<Backend> make_plugin_backend(const BackendContext& context, std::shared_ptr<Plugin> plugin) {
  return std::make_unique<CpuBackend>(context, std::move(plugin));
}

CpuProgram::CpuProgram(const BackendContext& context, PlanPtr plan, const PrepareOptions& options,
                       std::shared_ptr<const Plugin> plugin)
    : context_(context),
      plan_(std::move(plan)),
      vec_(&kernels::select_vec(context.cpu, context.forced_kernel)),
      scan_(&kernels::scan_row_of(*vec_)),
      plugin_(std::move(plugin)) {
  packed_.resize(plan_->weights.size());
  tables_.resize(plan_->weights.size());
  owned_.resize(plan_->weights.size());
  for (const Op& op : plan_->ops)
    if (const auto* embed = std::get_if<op::Embed>(&op))
      precise_ = plan_->buffers[static_cast<size_t>(embed->out)].width < kPreciseBelow;
  const std::vector<const char*> product = weights_of_products();
  if (!plugin_)
    for (size_t i = 0; i < product.size(); ++i)
      if (product[i]) choose_kernel(i);
  const std::optional<CacheLayout> layout = cache_layout(options);
  if (layout) take_from_cache(*layout);
  cached_ = cache_ != nullptr;
  const bool keep = layout && !cache_;
  uint64_t total = keep ? layout->file_bytes() : 1, done = 0;
  for (const PlanWeight& w : plan_->weights) total += bytes_of(w);
  const auto advance = [&](int64_t bytes) {
    done += static_cast<uint64_t>(bytes);
    return !options.progress || options.progress(static_cast<float>(done) / static_cast<float>(total));
  };
  for (size_t i = 0; i < plan_->weights.size(); ++i) {
    if (product[i] && plugin_) {
      pack_by_plugin(i, product[i], advance);
    } else if (product[i]) {
      if (!cache_) pack(i, advance, options.sizes_only);
    } else {
      tables_[i] = open_weight(*plan_->checkpoint, plan_->weights[i], owned_[i]);
    }
  }
  check_banks();
  if (plugin_) ask_for_ops();
  if (keep && !keep_in_cache(*layout, advance))
    fail(Code::cancelled, plan_->checkpoint->name(), "loading was cancelled");
  if (keep) take_from_cache(*layout);  // the page cache has them now, and one copy is enough
  if (options.progress && !options.progress(1))
    fail(Code::cancelled, plan_->checkpoint->name(), "loading was cancelled");
}

// The rows that the matrices of a bank take come in one form.
void CpuProgram::check_banks() const {
  for (const Op& op : plan_->ops)
    each_bank(op, [&](const BankSpec& bank) {
      for (int32_t i = 0; i < bank.count; ++i)
        if (packed(bank.weight + i).row->activation != packed(bank.weight).row->activation)
          fail(Code::unsupported, plan_->checkpoint->name(),
               format("the experts of one block have weights of the formats {} and {}",
                      packed(bank.weight).format->name, packed(bank.weight + i).format->name));
    });
}

std::vector<const char*> CpuProgram::weights_of_products() const {
  std::vector<const char*> product(plan_->weights.size());
  for (const Op& op : plan_->ops)
    each_product(op, [&](const LinearSpec& w) { product[static_cast<size_t>(w.weight)] = op_name(op); });
  return product;
}

void CpuProgram::choose_kernel(size_t i) {
  const PlanWeight& w = plan_->weights[i];
  const quant::QuantFormat* weight_format = quant::find_format(w.tensor->type);
  if (!weight_format)
    fail(Code::unsupported, w.tensor->name,
         format("element type {} is not in the catalog of weight formats", static_cast<int>(w.tensor->type)));
  kernels::PackedWeight out;
  const kernels::KernelChoice choice{context_.cpu, context_.forced_kernel};
  out.row = kernels::select_matmul({weight_format, w.rows, w.cols}, choice);
  out.format = weight_format;
  out.n = w.rows;
  out.k = w.cols;
  if (context_.log)
    context_.log(LogLevel::debug, format("{}: {} [{}, {}] → {}", w.tensor->name, weight_format->name, w.rows,
                                         w.cols, out.row->name));
  packed_[i] = std::move(out);
}

// All threads pack groups of one weight at a time; progress is told between runs of groups, so that a load
// can be cancelled in the middle of a large tensor.
void CpuProgram::pack(size_t i, const std::function<bool(int64_t)>& packed_bytes, bool sizes_only) {
  const PlanWeight& w = plan_->weights[i];
  std::vector<std::byte> scratch;
  const quant::QuantWeight weight = open_weight(*plan_->checkpoint, w, scratch);
  std::vector<int64_t> source_rows;
  if (!w.in_order()) {
    source_rows.resize(static_cast<size_t>(w.rows));
    for (int64_t r = 0; r < w.rows; ++r) source_rows[static_cast<size_t>(r)] = w.source_row(r);
  }
  kernels::PackedWeight& out = *packed_[i];
  out.data = Buffer(context_.allocator, kernels::packed_bytes(*out.row, *weight.format, w.rows, w.cols));
  const int64_t groups = sizes_only ? 0 : ceil_div(w.rows, kernels::kGroupRows);
  constexpr int64_t kRun = 1024, kChunk = 16;
  for (int64_t start = 0; start < groups; start += kRun) {
    const int64_t end = std::min(groups, start + kRun);
    std::atomic<int64_t> next{start};
    context_.pool->run([&](int) {
      for (int64_t g; (g = next.fetch_add(kChunk)) < end;)
        kernels::pack_groups(weight, source_rows.empty() ? nullptr : source_rows.data(), g,
                             std::min(end, g + kChunk), out);
    });
    // Of a large tensor, the output layer's say, file and packed weights would else be in memory both.
    forget_rows(*plan_->checkpoint, w, start * kernels::kGroupRows,
                std::min(w.rows, end * kernels::kGroupRows));
    if (!packed_bytes(static_cast<int64_t>(bytes_of(w)) * (end - start) / groups))
      fail(Code::cancelled, plan_->checkpoint->name(), "loading was cancelled");
  }
  forget_weight(*plan_->checkpoint, w);
}

uint64_t CpuProgram::weight_bytes() const {
  uint64_t bytes = 0;
  for (const auto& w : packed_) bytes += w ? w->data.size() : 0;
  for (const auto& w : held_) bytes += w->bytes();
  for (const auto& o : owned_) bytes += o.size();
  return bytes;
}

std::string CpuProgram::kernels() const {
  std::map<std::string_view, int> count;
  for (const auto& w : packed_)
    if (w) ++count[w->row->name];
  std::string text;
  for (const auto& [name, n] : count) text += (text.empty() ? "" : ", ") + format("{} × {}", name, n);
  if (plugin_) text += format(" ({})", plugin_->about());
  return text + format("; rows and attention: {}", vec_->isa);
}

void CpuProgram::embed(Id table, int32_t token, float* out) const {
  const auto i = static_cast<size_t>(table);
  if (packed_[i] && !plugin_)
    kernels::unpack_row(*packed_[i], token, out);
  else
    tables_[i].format->decode_rows(tables_[i], plan_->weights[i].source_row(token), 1, out);
}

void CpuProgram::make_slots(CpuWorkspace& ws, int64_t max_tokens, int64_t rest_rows, bool quantised) const {
  int64_t n_used = 0, n_experts = 0, in = 1, inner = 1, out = 1;
  for (const Op& op : plan_->ops) {
    if (const auto* x = std::get_if<op::ExpertLinear>(&op)) {
      n_used = std::max<int64_t>(n_used, x->n_used);
      n_experts = std::max<int64_t>(n_experts, x->w.count);
      in = std::max(in, packed(x->w.weight).k);
      out = std::max(out, packed(x->w.weight).n);
    }
    if (const auto* m = std::get_if<op::Moe>(&op)) {
      n_used = std::max<int64_t>(n_used, m->route.n_used);
      n_experts = std::max<int64_t>(n_experts, m->route.n_experts);
      in = std::max(in, packed(m->up.weight).k);
      inner = std::max(inner, packed(m->down.weight).k);
      out = std::max(out, packed(m->down.weight).n);
    }
  }
  if (n_used == 0) return;
  ExpertSlots& e = ws.experts;
  const int64_t places = max_tokens * n_used;
  const auto floats = [&](int64_t n) {
    ws.total_bytes += static_cast<uint64_t>(n) * 4;
    return Buffer(context_.allocator, static_cast<size_t>(n) * 4);
  };
  e.logits = floats(max_tokens * n_experts);
  e.routes = floats(places * 2);
  e.shared_weight = floats(max_tokens);
  e.out = floats(places * out);
  e.in.allocate(context_.allocator, places, in, quantised);
  e.inner.allocate(context_.allocator, places, inner, quantised);
  e.in_rest.allocate(context_.allocator, rest_rows * n_used, in, quantised);
  e.inner_rest.allocate(context_.allocator, rest_rows * n_used, inner, quantised);
  for (const ActivationBuffer* b : {&e.in, &e.inner, &e.in_rest, &e.inner_rest})
    ws.total_bytes += b->memory.size();
  for (std::vector<int32_t>* list : {&e.place, &e.rest_of, &e.row_of, &e.slot_of})
    list->resize(static_cast<size_t>(places));
  for (std::vector<int32_t>* list : {&e.first, &e.cursor, &e.rest_first})
    list->resize(static_cast<size_t>(n_experts) + 1);
  e.active.reserve(static_cast<size_t>(n_experts));
  e.rest_places.reserve(static_cast<size_t>(rest_rows * n_used));
}

std::unique_ptr<Workspace> CpuProgram::make_workspace(int64_t max_tokens, int64_t max_wanted,
                                                      int64_t max_slices) const {
  auto ws = std::make_unique<CpuWorkspace>();
  const auto floats = [&](int64_t n) {
    ws->total_bytes += static_cast<uint64_t>(n) * 4;
    return Buffer(context_.allocator, static_cast<size_t>(std::max<int64_t>(n, 16)) * 4);
  };
  ws->max_tokens = max_tokens;
  for (const PlanBuffer& b : plan_->buffers) ws->buffers.push_back(floats(max_tokens * b.width));

  int64_t hidden = 1, inner = 1, k_width = 1, v_width = 1, tile_rows = 1, dk = 1, dv = 1, scratch = 64,
          rest_scratch = 64;
  bool quantised = false;
  const int64_t most_rows =
      std::max(max_tokens, 2 * max_wanted);  // of one product; the head takes rows twice
  const int64_t most_records = std::max(most_rows, precise_ ? 2 * max_tokens : 0);
  for (const Op& op : plan_->ops) {
    each_product(op, [&](const LinearSpec& w) {
      const kernels::PackedWeight& p = packed(w.weight);
      quantised |= p.row->activation == kernels::kActQ8;
      scratch = std::max(scratch, p.row->scratch_bytes(most_records, p.k));
      rest_scratch = std::max(rest_scratch, p.row->scratch_bytes(1, p.k));
    });
    if (const auto* a = std::get_if<op::AttentionInput>(&op)) {
      hidden = std::max(hidden, packed(a->wq.weight).k);
      k_width = std::max(k_width, packed(a->wk.weight).n);
      v_width = std::max(v_width, packed(a->wv.weight).n);
    }
    if (const auto* a = std::get_if<op::Attend>(&op)) {
      tile_rows = std::max(tile_rows, a->heads.n_heads / a->heads.n_kv_heads * attend_tokens(a->heads));
      dk = std::max<int64_t>(dk, a->heads.dk);
      dv = std::max<int64_t>(dv, a->heads.dv);
    }
    if (const auto* o = std::get_if<op::ProjectResidual>(&op)) inner = std::max(inner, packed(o->w.weight).k);
    if (const auto* f = std::get_if<op::GatedFfn>(&op)) {
      hidden = std::max(hidden, packed(f->gate.weight).k);
      inner = std::max(inner, packed(f->down.weight).k);
    }
    if (const auto* l = std::get_if<op::Linear>(&op)) hidden = std::max(hidden, packed(l->w.weight).k);
    if (const auto* h = std::get_if<op::HeadLinear>(&op))
      hidden = std::max(hidden, h->w.count * packed(h->w.weight).k);
    if (const auto* m = std::get_if<op::Moe>(&op)) {
      hidden = std::max(hidden, packed(m->up.weight).k);
      if (m->shared_down.weight != kNone) inner = std::max(inner, packed(m->shared_down.weight).k);
    }
    if (const auto* h = std::get_if<op::Head>(&op)) hidden = std::max(hidden, packed(h->w.weight).k);
  }
  ws->hidden.allocate(context_.allocator, most_rows, hidden, quantised);
  ws->inner.allocate(context_.allocator, max_tokens, inner, quantised);
  const int64_t rest_rows = precise_ ? max_tokens : max_slices;
  ws->hidden_rest.allocate(context_.allocator, rest_rows, hidden, quantised);
  ws->inner_rest.allocate(context_.allocator, rest_rows, inner, quantised);
  ws->rest_rows.reserve(static_cast<size_t>(rest_rows));
  ws->rest_of.resize(static_cast<size_t>(max_tokens));
  ws->total_bytes += ws->hidden.memory.size() + ws->inner.memory.size() + ws->hidden_rest.memory.size() +
                     ws->inner_rest.memory.size();
  ws->k = floats(max_tokens * k_width);
  ws->v = floats(max_tokens * v_width);
  ws->projected = floats(max_tokens * hidden);
  make_slots(*ws, max_tokens, rest_rows, quantised);
  for (const PlanRotation& r : plan_->rotations) {
    ws->cosines.push_back(floats(max_tokens * static_cast<int64_t>(r.inverse_frequency.size())));
    ws->sines.push_back(floats(max_tokens * static_cast<int64_t>(r.inverse_frequency.size())));
  }
  const auto tile = static_cast<size_t>(tile_rows);
  for (int w = 0; w < context_.pool->size(); ++w) {
    WorkerScratch s;
    s.matmul = Buffer(context_.allocator, static_cast<size_t>(scratch));
    s.matmul_rest = Buffer(context_.allocator, static_cast<size_t>(rest_scratch));
    std::memset(s.matmul.data(), 0, 64);  // no strips are there yet
    s.attend = Buffer(context_.allocator,
                      static_cast<size_t>(kernels::attend_scratch_bytes(static_cast<int64_t>(tile), dk, dv)));
    s.columns =
        floats(2 * std::max({max_tokens * kFfnColumns, std::min(max_tokens, kFewRows) * kFfnColumnsOfFew,
                             max_wanted * kHeadColumns}));
    s.q.resize(tile);
    s.out.resize(tile);
    s.sinks.resize(tile);
    s.first.resize(tile);
    s.last.resize(tile);
    s.slopes.resize(tile);
    for (const PlanRotation& r : plan_->rotations)
      s.frequencies.reserve(std::max(s.frequencies.capacity(), r.inverse_frequency.size()));
    ws->total_bytes += s.matmul.size() + s.matmul_rest.size() + s.attend.size();
    ws->workers.push_back(std::move(s));
  }
  ws->counters = std::vector<CpuWorkspace::Counter>(plan_->ops.size() * kMaxPhases + kMaxPhases);
  ws->rows.reserve(max_tokens, max_tokens);
  return ws;
}

}  // namespace ingle::backends
