// Plain ops: what fused ones expand into. Each is a phase of its own.
#include <cmath>

#include "backends/cpu/step.h"

namespace ingle::backends {
namespace {

// For a few values a row: in double precision by our own exp and log.
void softplus(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double v = x[i];
    x[i] = static_cast<float>(std::max(v, 0.0) + kernels::log_double(1 + kernels::exp_double(-std::abs(v))));
  }
}

}  // namespace

void CpuStep::operator()(const op::Norm& o) {
  // Weights for every run, or for one.
  const bool apart =
      o.norm.weight != kNone &&
      static_cast<int64_t>(p.plan().vectors[static_cast<size_t>(o.norm.weight)].values.size()) > o.group;
  each_row(n, [&](int64_t r) {
    for (int64_t at = 0; at < width(o.in); at += o.group)
      norm(o.norm, row(o.in, r) + at, row(o.out, r) + at, o.group, apart ? at : 0);
  });
}

// Row r of `in` as the input of a product, in the forms that its kernel wants.
void CpuStep::load_input(Id in, int64_t r, int64_t k, bool quantise) const {
  std::memcpy(ws.hidden.row(r), row(in, r), static_cast<size_t>(k) * sizeof(float));
  if (quantise) quantise_columns(ws.hidden, ws.hidden_rest, r, 0, k, ws.hidden.row(r));
}

void CpuStep::operator()(const op::Linear& o) {
  const Op one = o;
  linears({&one, 1});
}

// How many products of the same row begin here; they share its quantisation and a phase.
size_t CpuStep::count_linears(size_t first) const {
  const std::vector<Op>& ops = p.plan().ops;
  const auto* head = std::get_if<op::Linear>(&ops[first]);
  size_t count = 0;
  while (head && first + count < ops.size() && count < kMostLinears) {
    const auto* next = std::get_if<op::Linear>(&ops[first + count]);
    if (!next || next->in != head->in) break;
    ++count;
    if (next->out == head->in) break;
  }
  return count;
}

void CpuStep::linears(std::span<const Op> ops) {
  Job jobs[kMostLinears];
  bool quantise = false;
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto& o = std::get<op::Linear>(ops[i]);
    jobs[i] = {&o.w, row(o.out, 0), width(o.out), o.accumulate};
    quantise |= quantised(p.packed(o.w.weight));
  }
  const auto& first = std::get<op::Linear>(ops.front());
  const int64_t k = p.packed(first.w.weight).k;
  each_row(n, [&](int64_t r) { load_input(first.in, r, k, quantise); });
  products(std::span<const Job>(jobs, ops.size()), ws.hidden, ws.hidden_rest);
}

void CpuStep::operator()(const op::HeadLinear& o) {
  const kernels::PackedWeight& first = p.packed(o.w.weight);
  const int64_t heads = o.w.count, k = first.k, groups = ceil_div(first.n, kernels::kGroupRows);
  each_row(n, [&](int64_t r) { load_input(o.in, r, heads * k, quantised(first)); });
  // The columns of one head, of rows from r0 on.
  const auto input = [&](const ActivationBuffer& x, int64_t head, int64_t r0, int64_t m) {
    kernels::Activations a = x.rows(r0, m, k);
    a.f += head * k;
    if (a.q) a.q += head * k, a.d += head * k / 32, a.sum += 2 * (head * k / 32);
    return a;
  };
  const int64_t run = std::clamp<int64_t>(groups * heads / (6 * p.pool().size()), 1, groups);
  const int64_t per_head = ceil_div(groups, run);
  parallel(heads * per_head, [&](int64_t c) {
    const int64_t head = c / per_head, group0 = c % per_head * run;
    const kernels::PackedWeight& w = p.packed(o.w.weight + static_cast<Id>(head));
    float* y = row(o.out, 0) + o.out_offset + head * o.out_stride;
    const float* bias = o.w.bias == kNone ? nullptr : p.vector(o.w.bias) + head * w.n;
    kernels::MatmulArgs args{reinterpret_cast<const uint8_t*>(w.data.data()),
                             w.n,
                             k,
                             input(ws.hidden, head, 0, n),
                             bias,
                             y,
                             width(o.out),
                             0,
                             group0,
                             std::min(groups, group0 + run),
                             reinterpret_cast<uint8_t*>(scratch().matmul.data())};
    w.row->run(&args);
    if (!rounded(w)) return;
    args.bias = nullptr;
    args.accumulate = 1;
    for (size_t i = 0; i < ws.rest_rows.size(); ++i) {
      args.x = quantised(w) ? input(ws.hidden_rest, head, static_cast<int64_t>(i), 1)
                            : input(ws.hidden, head, ws.rest_rows[i], 1);
      if (!quantised(w)) args.x.passes = kernels::kPassRest;
      args.y = y + ws.rest_rows[i] * width(o.out);
      w.row->run(&args);
    }
  });
}

void CpuStep::operator()(const op::Rope& o) {
  const auto i = static_cast<size_t>(o.rotation);
  const auto pairs = static_cast<int64_t>(p.plan().rotations[i].inverse_frequency.size());
  each_row(n, [&](int64_t r) {
    p.vec().rope(row(o.x, r), o.n_heads, o.head_width, pairs, ws.cosines[i].as<float>() + r * pairs,
                 ws.sines[i].as<float>() + r * pairs);
  });
}

void CpuStep::operator()(const op::StoreKv& o) {
  each_row(n, [&](int64_t r) { store(o, r, row(o.k, r), row(o.v, r)); });
  close_pages(o);
}

// gate and up are overwritten where they are bounded; out may be either.
void CpuStep::glu(Activation act, const GluBound& bound, float* gate, float* up, float* out,
                  int64_t count) const {
  if (bound.limit > 0)
    for (int64_t i = 0; i < count; ++i) {
      gate[i] = bound.alpha * std::min(gate[i], bound.limit);
      up[i] = (std::clamp(up[i], -bound.limit, bound.limit) + bound.up_offset) / bound.alpha;
    }
  p.vec().glu(static_cast<int32_t>(act), gate, up, out, count);
}

void CpuStep::operator()(const op::Glu& o) {
  each_row(
      n, [&](int64_t r) { glu(o.act, o.bound, row(o.gate, r), row(o.up, r), row(o.out, r), width(o.out)); });
}
void CpuStep::operator()(const op::Activate& o) {
  each_row(n, [&](int64_t r) {
    p.vec().activate(static_cast<int32_t>(o.act), row(o.in, r), row(o.out, r), width(o.out));
  });
}
void CpuStep::operator()(const op::Add& o) {
  each_row(n, [&](int64_t r) { p.vec().add(row(o.a, r), row(o.b, r), row(o.out, r), width(o.out)); });
}
void CpuStep::operator()(const op::Scale& o) {
  each_row(n, [&](int64_t r) { p.vec().scale(row(o.in, r), o.factor, row(o.out, r), width(o.out)); });
}
void CpuStep::operator()(const op::Softcap& o) {
  each_row(n, [&](int64_t r) { p.vec().softcap(row(o.in, r), o.cap, row(o.out, r), width(o.out)); });
}

void CpuStep::operator()(const op::Gate& o) {
  each_row(n, [&](int64_t r) {
    float *x = row(o.x, r), *gate = row(o.gate, r);
    if (o.group == 1) {
      if (o.act == Activation::identity) return p.scan().mul(x, gate, x, width(o.x));
      p.vec().glu(static_cast<int32_t>(o.act), gate, x, x, width(o.x));
      return;
    }
    if (o.act == Activation::softplus)
      softplus(gate, width(o.gate));
    else if (o.act != Activation::identity)
      p.vec().activate(static_cast<int32_t>(o.act), gate, gate, width(o.gate));
    for (int64_t i = 0; i < width(o.gate); ++i)
      p.vec().scale(x + i * o.group, gate[i], x + i * o.group, o.group);
  });
}

void CpuStep::operator()(const op::Copy& o) {
  each_row(n, [&](int64_t r) {
    for (int64_t i = 0; i < o.count; ++i)
      std::memcpy(row(o.out, r) + o.out_offset + i * o.out_stride,
                  row(o.in, r) + o.in_offset + i * o.in_stride, static_cast<size_t>(o.width) * sizeof(float));
  });
}

}  // namespace ingle::backends
