// One step on the CPU: every worker walks the ops together. An op is a few phases; in a phase the workers
// take chunks from a counter until none is left, then meet at a barrier. Who computes a chunk never changes
// its result.
#pragma once
#include <algorithm>
#include <cstring>
#include <span>

#include "backends/cpu/program.h"
#include "core/checked_math.h"

namespace ingle::backends {

// What one worker needs to walk through a step.
struct CpuStep {
  const CpuProgram& p;
  CpuWorkspace& ws;
  const Batch& batch;
  int worker;
  int64_t n;         // rows of the batch
  size_t phase = 0;  // counts alike on every worker
  size_t given = 0;  // of the batch's points

  WorkerScratch& scratch() const { return ws.workers[static_cast<size_t>(worker)]; }
  const kv::PartSpec& tail_of(Id part) const { return p.plan().parts[static_cast<size_t>(part + 1)]; }
  int64_t width(Id buffer) const { return p.plan().buffers[static_cast<size_t>(buffer)].width; }
  float* row(Id buffer, int64_t r) const {
    return ws.buffers[static_cast<size_t>(buffer)].as<float>() + r * width(buffer);
  }

  template <class F>
  void parallel(int64_t n_chunks, F f) {
    std::atomic<int64_t>& next = ws.counters[phase++].next;
    for (int64_t c; goes_on() && (c = next.fetch_add(1, std::memory_order_relaxed)) < n_chunks;) f(c);
    p.pool().barrier(worker);
  }
  // After a cancel the workers walk to the end without work: what a phase did not write, no later one reads.
  bool goes_on() const {
    if (ws.given_up.load(std::memory_order_relaxed)) return false;
    if (!batch.cancel || !batch.cancel->load(std::memory_order_relaxed)) return true;
    ws.given_up.store(true, std::memory_order_relaxed);
    return false;
  }
  // Rows in runs long enough to be worth a turn at the counter.
  template <class F>
  void each_row(int64_t count, F f) {
    const int64_t run = std::clamp<int64_t>(count / (4 * p.pool().size()), 1, 16);
    parallel(ceil_div(count, run), [&](int64_t c) {
      for (int64_t r = c * run; r < std::min(count, (c + 1) * run); ++r) f(r);
    });
  }

  // ---- products ----

  static bool quantised(const kernels::PackedWeight& w) { return w.row->activation == kernels::kActQ8; }
  // Are activations taken with fewer bits than f32 has?
  static bool rounded(const kernels::PackedWeight& w) { return w.row->activation != kernels::kActF32; }

  // y = w x for groups of w's rows.
  void product_alone(const LinearSpec& spec, const kernels::Activations& x, float* y, int64_t ldy,
                     bool accumulate, int64_t group0, int64_t group1, const Buffer& memory) const {
    const kernels::PackedWeight& w = p.packed(spec.weight);
    const kernels::MatmulArgs args{reinterpret_cast<const uint8_t*>(w.data.data()),
                                   w.n,
                                   w.k,
                                   x,
                                   p.vector(spec.bias),
                                   y,
                                   ldy,
                                   accumulate ? 1 : 0,
                                   group0,
                                   group1,
                                   const_cast<uint8_t*>(memory.as<uint8_t>())};
    w.row->run(&args);
  }
  // The same for rows 0 … m - 1. Some get a second product, of what the rounding of their activations left
  // over: see needs_rest(). Calls with the same stamp, not 0, have the same rows of the same x.
  void product(const LinearSpec& spec, const ActivationBuffer& x, const ActivationBuffer* rest, int64_t m,
               float* y, int64_t ldy, bool accumulate, int64_t group0, int64_t group1,
               uint64_t stamp = 0) const {
    const kernels::PackedWeight& w = p.packed(spec.weight);
    const bool twice = rest && rounded(w);
    kernels::Activations a = x.rows(0, m, w.k);
    a.stamp = stamp;
    if (twice && p.precise()) take_both(a, *rest, 0);
    product_alone(spec, a, y, ldy, accumulate, group0, group1, scratch().matmul);
    if (!twice || p.precise()) return;
    const LinearSpec again{spec.weight, kNone};
    for (size_t i = 0; i < ws.rest_rows.size(); ++i) {
      const int64_t row = ws.rest_rows[i];
      // What bf16 leaves over is made by the kernel itself, from the values.
      a = quantised(w) ? rest->rows(static_cast<int64_t>(i), 1, w.k) : x.rows(row, 1, w.k);
      if (!quantised(w)) a.passes = kernels::kPassRest;
      product_alone(again, a, y + row * ldy, ldy, true, group0, group1, scratch().matmul_rest);
    }
  }
  // Both passes in one call; the rests of the rows stand in `rest` from row `first` on.
  static void take_both(kernels::Activations& a, const ActivationBuffer& rest, int64_t first) {
    const kernels::Activations r = rest.rows(first, a.m, a.k);
    a.passes = kernels::kPassBoth;
    a.rest_q = r.q;
    a.rest_d = r.d;
    a.rest_sum = r.sum;
  }
  uint64_t stamp() const { return ws.n_steps << 20 | (phase + 1); }

  struct Job {
    const LinearSpec* w;
    float* y;
    int64_t ldy;
    bool accumulate;
  };
  // Several products of the same rows in one phase.
  void products(std::initializer_list<Job> jobs, const ActivationBuffer& x, const ActivationBuffer& rest) {
    products(std::span(jobs.begin(), jobs.size()), x, rest);
  }
  void products(std::span<const Job> jobs, const ActivationBuffer& x, const ActivationBuffer& rest) {
    int64_t total = 0;
    for (const Job& j : jobs) total += groups(*j.w);
    const int64_t run = std::clamp<int64_t>(total / (6 * p.pool().size()), 1, 64);
    int64_t chunks = 0;
    for (const Job& j : jobs) chunks += ceil_div(groups(*j.w), run);
    const uint64_t same = stamp();
    parallel(chunks, [&](int64_t c) {
      for (const Job& j : jobs) {
        const int64_t mine = ceil_div(groups(*j.w), run);
        if (c < mine) {
          product(*j.w, x, &rest, n, j.y, j.ldy, j.accumulate, c * run, std::min(groups(*j.w), (c + 1) * run),
                  same);
          return;
        }
        c -= mine;
      }
    });
  }
  int64_t groups(const LinearSpec& w) const { return ceil_div(p.packed(w.weight).n, kernels::kGroupRows); }

  // ---- rows ----

  // `first`: of the weights.
  void norm(const NormSpec& spec, const float* x, float* y, int64_t width, int64_t first = 0) const {
    const float *w = p.vector(spec.weight), *b = p.vector(spec.bias);
    if (w) w += first;
    if (b) b += first;
    if (spec.kind == NormKind::rms) {
      p.vec().rms_norm(x, w, y, width, spec.eps);
      if (b) p.vec().add(y, b, y, width);
    } else if (spec.kind == NormKind::layer) {
      p.vec().layer_norm(x, w, b, y, width, spec.eps);
    } else if (x != y) {
      std::memcpy(y, x, static_cast<size_t>(width) * sizeof(float));
    }
  }

  // x normed into the activation buffer, in the forms that the products want.
  void normed_input(const NormSpec& spec, Id x, int64_t r, bool quantise) const {
    norm(spec, row(x, r), ws.hidden.row(r), width(x));
    if (quantise) quantise_columns(ws.hidden, ws.hidden_rest, r, 0, width(x), ws.hidden.row(r));
  }
  void quantise_columns(const ActivationBuffer& x, const ActivationBuffer& rest, int64_t r, int64_t column,
                        int64_t count, const float* values) const {
    x.quantise(p.vec(), r, column, count, values);
    if (const int32_t i = ws.rest_of[static_cast<size_t>(r)]; i >= 0)
      rest.quantise_rest(p.vec(), i, x, r, column, count, values);
  }

  // x += post(w in), for `in` that is ready in ws.inner.
  void project(const LinearSpec& w, const NormSpec& post, Id x) {
    if (post.kind == NormKind::none) {
      products({{&w, row(x, 0), width(x), true}}, ws.inner, ws.inner_rest);
      return;
    }
    float* y = ws.projected.as<float>();
    products({{&w, y, width(x), false}}, ws.inner, ws.inner_rest);
    each_row(n, [&](int64_t r) {
      float* yr = y + r * width(x);
      norm(post, yr, yr, width(x));
      p.vec().add(row(x, r), yr, row(x, r), width(x));
    });
  }

  // ---- ops: step.cpp, and a file for each of the larger ones ----

  void walk();
  void operator()(const op::Embed& o);
  void operator()(const op::AttentionInput& o);
  void operator()(const op::Attend& o);
  void operator()(const op::ProjectResidual& o);
  void operator()(const op::GatedFfn& o);
  void operator()(const op::Head& o);
  void operator()(const op::Mix& o);
  void operator()(const op::MatchMagnitude& o);
  void operator()(const op::Sparsify& o);
  void operator()(const op::ScaleColumns& o);
  void operator()(const op::Conv& o);
  void operator()(const op::Scan& o);
  void operator()(const op::Selective& o);
  // positions.cpp
  void operator()(const op::AddPositions& o);
  void operator()(const op::Xielu& o);
  void operator()(const op::Clamp& o);
  void operator()(const op::ScaleByPosition& o);
  // plain.cpp
  void operator()(const op::Norm& o);
  void operator()(const op::Linear& o);
  void operator()(const op::HeadLinear& o);
  void operator()(const op::Rope& o);
  void operator()(const op::StoreKv& o);
  void operator()(const op::Glu& o);
  void operator()(const op::Activate& o);
  void operator()(const op::Add& o);
  void operator()(const op::Scale& o);
  void operator()(const op::Softcap& o);
  void operator()(const op::Gate& o);
  void operator()(const op::Copy& o);
  // experts.cpp
  void operator()(const op::Route& o);
  void operator()(const op::ExpertLinear& o);
  void operator()(const op::Combine& o);
  void operator()(const op::Moe& o);
  template <class Refused>
  void operator()(const Refused&) {}  // prepare() refused them

 private:
  void run_plugged(const CpuProgram::PluggedOp& o);  // plugged.cpp
  // plain.cpp
  static constexpr size_t kMostLinears = 8;
  void linears(std::span<const Op> ops);
  size_t count_linears(size_t first) const;
  void load_input(Id in, int64_t r, int64_t k, bool quantise) const;
  void glu(Activation act, const GluBound& bound, float* gate, float* up, float* out, int64_t count) const;
  // experts.cpp
  void sort_slots(const float* routes, int32_t n_used, int32_t n_experts);
  struct Segment;
  Segment segment(int32_t expert) const;
  void expert_product(const BankSpec& bank, const Segment& s, bool bias, const ActivationBuffer& x,
                      int64_t x_first, const ActivationBuffer& rest, int64_t rest_first, float* y,
                      int64_t ldy, int64_t group0, int64_t group1) const;
  void expert_inner(const op::Moe& o, const Segment& s, int64_t first, int64_t count, int64_t columns) const;
  void shared_inner(const op::Moe& o, int64_t first, int64_t count, int64_t columns) const;
  void combine_row(const op::Moe& o, int64_t r) const;
  void angles();
  void give_points(size_t next_op);
  void heads(float* x, int64_t n_heads, const op::AttentionInput& o, const NormSpec& spec, int64_t r) const;
  // o: AttentionInput or StoreKv
  template <class Op>
  void store(const Op& o, int64_t r, const float* k, const float* v) const;
  template <class Op>
  void close_pages(const Op& o);
  void attend_tile(const op::Attend& o, const Slice& slice, int64_t row0, int64_t n_rows,
                   int64_t kv_head) const;
  template <class F>
  void each_piece(Id part, int32_t layer, int64_t head, const Slice& slice, int64_t row0, F f) const;
  void scan_gates(const op::Scan& o, int64_t r) const;
  bool cancelled();
};

}  // namespace ingle::backends
