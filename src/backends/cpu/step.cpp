#include "backends/cpu/step.h"

namespace ingle::backends {
namespace {

using kernels::PackedWeight;

struct Filled {  // pages begin <= p < end
  int64_t begin, end;
};

constexpr int64_t kCancelRows = 8;  // steps of fewer rows are short: their workers need not leave together

}  // namespace

void CpuStep::angles() {
  const Plan& plan = p.plan();
  each_row(n, [&](int64_t r) {
    const BatchRow& token = ws.rows.rows[static_cast<size_t>(r)];
    for (size_t i = 0; i < plan.rotations.size(); ++i) {
      const PlanRotation& rotation = plan.rotations[i];
      const auto pairs = static_cast<int64_t>(rotation.inverse_frequency.size());
      const std::span<const double> frequency =
          frequencies(rotation, batch.slices[static_cast<size_t>(token.slice)], scratch().frequencies);
      kernels::rope_angles(token.position, frequency.data(), pairs, rotation.magnitude,
                           ws.cosines[i].as<float>() + r * pairs, ws.sines[i].as<float>() + r * pairs);
    }
  });
}

void CpuStep::operator()(const op::Embed& o) {
  each_row(n, [&](int64_t r) {
    p.embed(o.table, ws.rows.rows[static_cast<size_t>(r)].token, row(o.out, r));
    if (o.scale != 1.0f) p.vec().scale(row(o.out, r), o.scale, row(o.out, r), width(o.out));
  });
}

void CpuStep::operator()(const op::AttentionInput& o) {
  const PackedWeight &wq = p.packed(o.wq.weight), &wk = p.packed(o.wk.weight), &wv = p.packed(o.wv.weight);
  const bool quantise = quantised(wq) || quantised(wk) || quantised(wv);
  each_row(n, [&](int64_t r) { normed_input(o.norm, o.x, r, quantise); });
  products({{&o.wq, row(o.q, 0), width(o.q), false},
            {&o.wk, ws.k.as<float>(), wk.n, false},
            {&o.wv, ws.v.as<float>(), wv.n, false}},
           ws.hidden, ws.hidden_rest);
  each_row(n, [&](int64_t r) {
    float *q = row(o.q, r), *k = ws.k.as<float>() + r * wk.n;
    heads(q, o.heads.n_heads, o, o.q_norm, r);
    heads(k, o.heads.n_kv_heads, o, o.k_norm, r);
    store(o, r, k, ws.v.as<float>() + r * wv.n);
  });
  close_pages(o);
}

void CpuStep::heads(float* x, int64_t n_heads, const op::AttentionInput& o, const NormSpec& spec,
                    int64_t r) const {
  if (spec.kind != NormKind::none)
    for (int64_t h = 0; h < n_heads; ++h) norm(spec, x + h * o.heads.dk, x + h * o.heads.dk, o.heads.dk);
  if (o.rotation == kNone) return;
  const auto i = static_cast<size_t>(o.rotation);
  const auto pairs = static_cast<int64_t>(p.plan().rotations[i].inverse_frequency.size());
  p.vec().rope(x, n_heads, o.heads.dk, pairs, ws.cosines[i].as<float>() + r * pairs,
               ws.sines[i].as<float>() + r * pairs);
}

template <class Op>
void CpuStep::store(const Op& o, int64_t r, const float* k, const float* v) const {
  const kv::PartSpec& part = p.plan().parts[static_cast<size_t>(o.part)];
  const HeadShape& heads = o.heads;
  const float* center = p.vector(o.k_center);
  const BatchRow& token = ws.rows.rows[static_cast<size_t>(r)];
  const kv::SequenceState& state = *batch.slices[static_cast<size_t>(token.slice)].state;
  const auto number = static_cast<size_t>(token.position / kv::kPageTokens);
  const auto page_of = [&](Id i) {
    return reinterpret_cast<uint8_t*>(state.pages(static_cast<size_t>(i))[number]);
  };
  uint8_t* const page = page_of(o.part);
  uint8_t* const fine = part.type == kv::StateType::q4 ? page_of(o.part + 1) : nullptr;
  for (int64_t h = 0; h < heads.n_kv_heads; ++h) {
    uint8_t* const keys =
        fine ? fine + tail_of(o.part).k_offset(o.layer, h) : page + part.k_offset(o.layer, h);
    const kernels::KvStoreArgs args{static_cast<int32_t>(part.type),
                                    heads.dk,
                                    heads.dv,
                                    token.position % kv::kPageTokens,
                                    k + h * heads.dk,
                                    v + h * heads.dv,
                                    keys,
                                    page + part.v_offset(o.layer, h),
                                    center ? center + h * heads.dk : nullptr};
    p.vec().kv_store(&args);
  }
}

template void CpuStep::store(const op::StoreKv& o, int64_t r, const float* k, const float* v) const;

// The 4-bit keys of the pages that the step fills.
template <class Op>
void CpuStep::close_pages(const Op& o) {
  const kv::PartSpec& part = p.plan().parts[static_cast<size_t>(o.part)];
  if (part.type != kv::StateType::q4) return;
  const auto filled = [&](const Slice& s) {
    const int64_t end = s.start + static_cast<int64_t>(s.tokens.size());
    return Filled{s.start / kv::kPageTokens, end / kv::kPageTokens};
  };
  int64_t total = 0;
  for (const Slice& s : batch.slices) total += filled(s).end - filled(s).begin;
  parallel(total * o.heads.n_kv_heads, [&](int64_t c) {
    const int64_t head = c % o.heads.n_kv_heads;
    int64_t i = c / o.heads.n_kv_heads;
    for (const Slice& s : batch.slices) {
      const Filled pages = filled(s);
      if (i >= pages.end - pages.begin) {
        i -= pages.end - pages.begin;
        continue;
      }
      const auto page_of = [&](Id of) {
        return reinterpret_cast<uint8_t*>(
            s.state->pages(static_cast<size_t>(of))[static_cast<size_t>(pages.begin + i)]);
      };
      const kernels::KvCloseArgs args{o.heads.dk,
                                      page_of(o.part + 1) + tail_of(o.part).k_offset(o.layer, head),
                                      page_of(o.part) + part.k_offset(o.layer, head)};
      return p.vec().kv_close(&args);
    }
  });
}
template void CpuStep::close_pages(const op::StoreKv& o);

// Chunks are (run of rows of one slice) × (kv head); the query heads of a kv head share each load of K and
// V.
void CpuStep::operator()(const op::Attend& o) {
  const int64_t tile = attend_tokens(o.heads);
  int64_t tiles = 0;
  for (const Slice& s : batch.slices) tiles += ceil_div(static_cast<int64_t>(s.tokens.size()), tile);
  parallel(tiles * o.heads.n_kv_heads, [&](int64_t c) {
    // Long tiles first: the last ones see the most keys.
    int64_t t = tiles - 1 - c / o.heads.n_kv_heads, first_row = 0;
    for (const Slice& s : batch.slices) {
      const auto rows = static_cast<int64_t>(s.tokens.size()), mine = ceil_div(rows, tile);
      if (t < mine) {
        attend_tile(o, s, first_row + t * tile, std::min(tile, rows - t * tile), c % o.heads.n_kv_heads);
        return;
      }
      t -= mine;
      first_row += rows;
    }
  });
}

void CpuStep::attend_tile(const op::Attend& o, const Slice& slice, int64_t row0, int64_t n_rows,
                          int64_t kv_head) const {
  const kv::PartSpec& part = p.plan().parts[static_cast<size_t>(o.part)];
  const int64_t group = o.heads.n_heads / o.heads.n_kv_heads;
  WorkerScratch& s = scratch();
  size_t i = 0;
  for (int64_t r = row0; r < row0 + n_rows; ++r) {
    const int64_t position = ws.rows.rows[static_cast<size_t>(r)].position;
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h, ++i) {
      s.q[i] = row(o.q, r) + h * o.heads.dk;
      s.out[i] = row(o.out, r) + h * o.heads.dv;
      if (o.sinks != kNone) s.sinks[i] = p.vector(o.sinks)[h];
      s.first[i] = first_seen(o, part, position);
      s.last[i] = position;
      if (o.slopes != kNone) s.slopes[i] = p.vector(o.slopes)[h];
    }
  }
  kernels::AttendArgs args{};
  args.type = static_cast<int32_t>(part.type);
  args.dk = o.heads.dk;
  args.dv = o.heads.dv;
  args.n_rows = static_cast<int64_t>(i);
  args.q = s.q.data();
  args.out = s.out.data();
  args.first = s.first.data();
  args.last = s.last.data();
  args.scale = o.scale;
  args.softcap = o.softcap;
  args.slopes = o.slopes == kNone ? nullptr : s.slopes.data();
  args.sink = o.sinks == kNone ? nullptr : s.sinks.data();
  const auto pages = slice.state->pages(static_cast<size_t>(o.part));
  args.pages = reinterpret_cast<const uint8_t* const*>(pages.data());
  args.k_offset = part.k_offset(o.layer, kv_head);
  args.v_offset = part.v_offset(o.layer, kv_head);
  args.scratch = reinterpret_cast<uint8_t*>(s.attend.data());
  if (part.type == kv::StateType::q4) {
    args.fine_pages =
        reinterpret_cast<const uint8_t* const*>(slice.state->pages(static_cast<size_t>(o.part + 1)).data());
    args.fine_offset = tail_of(o.part).k_offset(o.layer, kv_head);
  }
  p.vec().attend(&args);
}

void CpuStep::operator()(const op::ProjectResidual& o) {
  const bool quantise = quantised(p.packed(o.w.weight));
  each_row(n, [&](int64_t r) {
    if (quantise)
      quantise_columns(ws.inner, ws.inner_rest, r, 0, width(o.in), row(o.in, r));
    else
      std::memcpy(ws.inner.row(r), row(o.in, r), static_cast<size_t>(width(o.in)) * sizeof(float));
  });
  project(o.w, o.post, o.x);
}

void CpuStep::operator()(const op::GatedFfn& o) {
  const PackedWeight &gate = p.packed(o.gate.weight), &up = p.packed(o.up.weight),
                     &down = p.packed(o.down.weight);
  const bool quantise_in = quantised(gate) || quantised(up), quantise_out = quantised(down);
  each_row(n, [&](int64_t r) { normed_input(o.norm, o.x, r, quantise_in); });
  // A chunk makes some columns of gate and up for all rows, and with them finished columns of down's input.
  const int64_t columns =
      n > kFewRows ? kFfnColumns
                   : std::clamp<int64_t>(round_up(gate.n / (4 * p.pool().size()), 32), 32, kFfnColumnsOfFew);
  const uint64_t same = stamp();
  parallel(ceil_div(gate.n, columns), [&](int64_t c) {
    const int64_t first = c * columns, count = std::min(columns, gate.n - first);
    const int64_t group0 = first / kernels::kGroupRows, group1 = ceil_div(first + count, kernels::kGroupRows);
    float* g = scratch().columns.as<float>();
    float* u = g + n * columns;
    product(o.gate, ws.hidden, &ws.hidden_rest, n, g - first, columns, false, group0, group1, same);
    product(o.up, ws.hidden, &ws.hidden_rest, n, u - first, columns, false, group0, group1, same);
    for (int64_t r = 0; r < n; ++r) {
      float* out = quantise_out ? g + r * columns : ws.inner.row(r) + first;
      p.vec().glu(static_cast<int32_t>(o.act), g + r * columns, u + r * columns, out, count);
      if (quantise_out) quantise_columns(ws.inner, ws.inner_rest, r, first, count, out);
    }
  });
  project(o.down, o.post, o.x);
}

// Activations that are rounded for the head are taken twice: the row, and what the rounding left over. The
// weights are read from memory once for both, and an error that no later layer can even out is gone from the
// logits.
void CpuStep::operator()(const op::Head& o) {
  const PackedWeight& w = p.packed(o.w.weight);
  const int64_t wanted = ws.rows.n_wanted();
  if (wanted == 0) return;
  const LinearSpec unbiased{o.w.weight, kNone};  // the bias is added once
  const float* bias = p.vector(o.w.bias);
  each_row(wanted, [&](int64_t r) {
    float* x = ws.hidden.row(r);
    norm(o.norm, row(o.x, ws.rows.wanted[static_cast<size_t>(r)]), x, width(o.x));
    if (!quantised(w)) return;
    ws.hidden.quantise(p.vec(), r, 0, width(o.x), x);
    ws.hidden.quantise_rest(p.vec(), wanted + r, ws.hidden, r, 0, width(o.x), x);
  });
  const uint64_t same = stamp();
  parallel(ceil_div(w.n, kHeadColumns), [&](int64_t c) {
    const int64_t first = c * kHeadColumns, count = std::min(kHeadColumns, w.n - first);
    const int64_t group0 = first / kernels::kGroupRows, group1 = ceil_div(first + count, kernels::kGroupRows);
    float* y = scratch().columns.as<float>();
    kernels::Activations x = ws.hidden.rows(0, wanted, w.k);
    x.stamp = same;
    if (rounded(w)) take_both(x, ws.hidden, wanted);
    product_alone(unbiased, x, y - first, kHeadColumns, false, group0, group1, scratch().matmul);
    for (int64_t r = 0; r < wanted; ++r) {
      float *row_y = y + r * kHeadColumns, *logits = batch.logits_row(r, w.n) + first;
      if (bias) p.vec().add(row_y, bias + first, row_y, count);
      if (o.scale != 1.0f) p.vec().scale(row_y, o.scale, row_y, count);
      if (o.softcap > 0) p.vec().softcap(row_y, o.softcap, row_y, count);
      std::memcpy(logits, row_y, static_cast<size_t>(count) * sizeof(float));
    }
  });
}

// Everybody sees the same answer.
bool CpuStep::cancelled() {
  if (worker == 0 && batch.cancel && batch.cancel->load(std::memory_order_relaxed)) ws.stop = true;
  p.pool().barrier(worker);
  return ws.stop;
}

// Those of the batch that lie before the next op. A worker takes every so-many-th row: a phase would want a
// counter.
void CpuStep::give_points(size_t next_op) {
  for (; given < batch.points.size(); ++given) {
    const PointRows& wanted = batch.points[given];
    const PlanPoint& point = p.plan().points[wanted.point];
    if (point.op > next_op) return;
    const int64_t w = width(point.buffer);
    for (int64_t r = worker; r < n; r += p.pool().size())
      norm(point.norm, row(point.buffer, r), wanted.rows + r * w, w);
    p.pool().barrier(worker);
  }
}

void CpuStep::walk() {
  angles();
  const std::vector<Op>& ops = p.plan().ops;
  for (size_t i = 0; i < ops.size();) {
    if (n > kCancelRows && cancelled()) return;
    if (given < batch.points.size()) give_points(i);
    const size_t run = count_linears(i);
    if (const CpuProgram::PluggedOp* plugged = p.plugged(i))
      run_plugged(*plugged);
    else if (run > 1)
      linears(std::span(ops).subspan(i, run));
    else
      std::visit([&](const auto& o) { (*this)(o); }, ops[i]);
    i += std::max<size_t>(run, 1);
  }
}

namespace {

// A worker whose call failed has left a code at the start of its scratch.
bool plugin_failed(CpuWorkspace& ws) {
  bool failed = false;
  for (WorkerScratch& s : ws.workers) {
    int32_t code = 0;
    std::memcpy(&code, s.matmul.data(), sizeof code);
    failed |= code != 0;
    std::memset(s.matmul.data(), 0, sizeof code);
  }
  return failed;
}

}  // namespace

void CpuProgram::run(Workspace& workspace, const Batch& batch) const noexcept {
  auto& ws = static_cast<CpuWorkspace&>(workspace);
  ws.rows.fill(batch);
  ws.rest_rows.clear();
  for (int64_t r = 0; r < ws.rows.size(); ++r) {
    const bool rest = needs_rest(ws.rows.rows[static_cast<size_t>(r)]);
    ws.rest_of[static_cast<size_t>(r)] = rest ? static_cast<int32_t>(ws.rest_rows.size()) : -1;
    if (rest) ws.rest_rows.push_back(static_cast<int32_t>(r));
  }
  ++ws.n_steps;
  ws.stop = false;
  ws.given_up = false;
  for (CpuWorkspace::Counter& c : ws.counters) c.next.store(0, std::memory_order_relaxed);
  context_.pool->run([&](int worker) { CpuStep{*this, ws, batch, worker, ws.rows.size()}.walk(); });
  if (ws.stop || ws.given_up)
    std::fill(batch.status.begin(), batch.status.end(), StepStatus::cancelled);
  else if (plugin_ && plugin_failed(ws))
    std::fill(batch.status.begin(), batch.status.end(), StepStatus::failed);
  else
    check_logits(batch, plan_->n_vocab);
}

}  // namespace ingle::backends
