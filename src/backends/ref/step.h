// A step of the reference backend.
#pragma once
#include "backends/ref/program.h"
#include "backends/ref/tile.h"

namespace ingle::backends {

float activate(Activation act, float x);
float dot(const float* a, const float* b, int64_t n);

// One step: an overload per plain op. `n` is the number of rows at this point of the plan.
struct RefStep {
  const RefProgram& p;
  RefWorkspace& ws;
  const Batch& batch;
  int64_t n;
  size_t given = 0;  // of the batch's points

  float* row(Id buffer, int64_t r) const {
    return ws.buffers[static_cast<size_t>(buffer)].as<float>() + r * width(buffer);
  }
  int64_t width(Id buffer) const { return p.plan_->buffers[static_cast<size_t>(buffer)].width; }
  const PlanWeight& weight(Id id) const { return p.plan_->weights[static_cast<size_t>(id)]; }
  const float* vector(Id id) const {
    return id == kNone ? nullptr : p.plan_->vectors[static_cast<size_t>(id)].values.data();
  }
  void decode(Id id, int64_t r, float* out) const {
    const PlanWeight& w = weight(id);
    const quant::QuantWeight& q = p.weights_[static_cast<size_t>(id)];
    q.format->decode_rows(q, w.in_order() ? r : w.source_row(r), 1, out);
  }
  // f(i, worker) for i in [0, count), dealt out by the worker's number.
  template <class F>
  void each(int64_t count, F f) const {
    const int workers = p.context_.pool->size();
    p.context_.pool->run([&](int worker) {
      for (int64_t i = worker; i < count; i += workers) f(i, worker);
    });
  }

  template <class F>
  void elementwise(Id out, F f) const {
    for (int64_t r = 0; r < n; ++r)
      for (int64_t i = 0; i < width(out); ++i) row(out, r)[i] = f(r, i);
  }

  // program.cpp, and a file for each of the larger ones.
  void operator()(const op::Embed& o) const;
  void operator()(const op::AddPositions& o) const;
  void operator()(const op::Xielu& o) const;
  void operator()(const op::Clamp& o) const;
  void operator()(const op::ScaleByPosition& o) const;
  void norm(const NormSpec& spec, const float* x, float* y, int64_t count, int64_t first_weight = 0) const;
  void give_points(size_t next_op);
  void operator()(const op::Norm& o) const;
  void operator()(const op::Linear& o) const;
  void operator()(const op::Rope& o) const;
  void operator()(const op::StoreKv& o) const;
  template <class Op>
  StateTile tail_tile(const Op& o, const BatchRow& token, size_t page, int64_t head) const;
  void operator()(const op::Attend& o) const;
  void attend_one(const op::Attend& o, int64_t r, int64_t head) const;
  void operator()(const op::Glu& o) const;
  void operator()(const op::Activate& o) const;
  void operator()(const op::Add& o) const;
  void operator()(const op::Scale& o) const;
  void operator()(const op::Softcap& o) const;
  void operator()(const op::Mix& o) const;
  void operator()(const op::MatchMagnitude& o) const;
  void operator()(const op::Sparsify& o) const;
  void operator()(const op::ScaleColumns& o) const;
  void operator()(const op::Conv& o) const;
  void operator()(const op::Scan& o) const;
  void operator()(const op::Selective& o) const;
  void operator()(const op::GatherWanted& o);
  void operator()(const op::Output& o) const;
  void operator()(const op::Gate& o) const;
  void operator()(const op::Copy& o) const;
  void operator()(const op::HeadLinear& o) const;
  void operator()(const op::Route& o) const;
  void operator()(const op::ExpertLinear& o) const;
  void operator()(const op::Combine& o) const;
  template <class Fused>
  void operator()(const Fused&) const {}  // never in a reference plan: takes() refuses them
};

}  // namespace ingle::backends
