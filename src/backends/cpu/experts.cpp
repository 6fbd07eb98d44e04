// Mixtures of experts. The slots of all tokens are sorted by expert; the rows that one expert sees then lie
// together, and a chunk of work is some columns of one expert for all of its rows. A token's experts are
// summed in ascending order of their numbers, so its bits depend on nothing but itself.
#include "backends/cpu/step.h"
#include "backends/route.h"
#include "kernels/vec.h"

namespace ingle::backends {

struct CpuStep::Segment {
  int32_t expert;
  int64_t first, m;            // its places
  int64_t rest_first, n_rest;  // ranks in rest_places
};

CpuStep::Segment CpuStep::segment(int32_t expert) const {
  const ExpertSlots& e = ws.experts;
  const auto i = static_cast<size_t>(expert);
  return {expert, e.first[i], e.first[i + 1] - e.first[i], e.rest_first[i],
          e.rest_first[i + 1] - e.rest_first[i]};
}

// By one worker: a counting sort.
void CpuStep::sort_slots(const float* routes, int32_t n_used, int32_t n_experts) {
  ExpertSlots& e = ws.experts;
  const auto expert_of = [&](int64_t r, int64_t s) {
    return static_cast<size_t>(routes[r * 2 * n_used + s]);
  };
  std::fill_n(e.first.begin(), n_experts + 1, 0);
  for (int64_t r = 0; r < n; ++r)
    for (int64_t s = 0; s < n_used; ++s) ++e.first[expert_of(r, s) + 1];
  e.active.clear();
  for (int32_t i = 0; i < n_experts; ++i) {
    const auto at = static_cast<size_t>(i);
    if (e.first[at + 1] > 0) e.active.push_back(i);
    e.first[at + 1] += e.first[at];
    e.cursor[at] = e.first[at];
  }
  for (int64_t r = 0; r < n; ++r)
    for (int64_t s = 0; s < n_used; ++s) {
      const int32_t place = e.cursor[expert_of(r, s)]++;
      e.place[static_cast<size_t>(r * n_used + s)] = place;
      e.row_of[static_cast<size_t>(place)] = static_cast<int32_t>(r);
      e.slot_of[static_cast<size_t>(place)] = static_cast<int32_t>(s);
    }
  e.rest_places.clear();
  for (int32_t i = 0; i < n_experts; ++i) {
    const auto at = static_cast<size_t>(i);
    e.rest_first[at] = static_cast<int32_t>(e.rest_places.size());
    for (int32_t place = e.first[at]; place < e.first[at + 1]; ++place) {
      const bool rest = ws.rest_of[static_cast<size_t>(e.row_of[static_cast<size_t>(place)])] >= 0;
      e.rest_of[static_cast<size_t>(place)] = rest ? static_cast<int32_t>(e.rest_places.size()) : -1;
      if (rest) e.rest_places.push_back(place);
    }
  }
  e.rest_first[static_cast<size_t>(n_experts)] = static_cast<int32_t>(e.rest_places.size());
}

// Groups of one expert's product, for all of its rows: x and rest start at the segment's.
void CpuStep::expert_product(const BankSpec& bank, const Segment& s, bool bias, const ActivationBuffer& x,
                             int64_t x_first, const ActivationBuffer& rest, int64_t rest_first, float* y,
                             int64_t ldy, int64_t group0, int64_t group1) const {
  const kernels::PackedWeight& w = p.packed(bank.weight + s.expert);
  kernels::MatmulArgs args{reinterpret_cast<const uint8_t*>(w.data.data()),
                           w.n,
                           w.k,
                           x.rows(x_first, s.m, w.k),
                           bias && bank.bias != kNone ? p.vector(bank.bias) + s.expert * w.n : nullptr,
                           y,
                           ldy,
                           0,
                           group0,
                           group1,
                           reinterpret_cast<uint8_t*>(scratch().matmul.data())};
  w.row->run(&args);
  if (!rounded(w) || s.n_rest == 0) return;
  args.bias = nullptr;
  args.accumulate = 1;
  // What bf16 leaves over is made by the kernel itself, from the values.
  const auto left_over = [&](int64_t i, int64_t place, int64_t m) {
    kernels::Activations a =
        quantised(w) ? rest.rows(rest_first + i, m, w.k) : x.rows(x_first + place, m, w.k);
    if (!quantised(w)) a.passes = kernels::kPassRest;
    return a;
  };
  if (s.n_rest == s.m) {
    args.x = left_over(0, 0, s.m);
    w.row->run(&args);
    return;
  }
  for (int64_t i = 0; i < s.n_rest; ++i) {
    const int64_t place = ws.experts.rest_places[static_cast<size_t>(s.rest_first + i)] - s.first;
    args.x = left_over(i, place, 1);
    args.y = y + place * ldy;
    w.row->run(&args);
  }
}

namespace {

void copy_row(const ActivationBuffer& from, int64_t from_row, const ActivationBuffer& to, int64_t to_row,
              int64_t k, bool quantised) {
  const kernels::Activations a = from.rows(from_row, 1, k), b = to.rows(to_row, 1, k);
  if (!quantised) {
    std::memcpy(const_cast<float*>(b.f), a.f, static_cast<size_t>(k) * sizeof(float));
    return;
  }
  const auto blocks = static_cast<size_t>(ceil_div(k, 32));
  std::memcpy(const_cast<int8_t*>(b.q), a.q, static_cast<size_t>(k));
  std::memcpy(const_cast<float*>(b.d), a.d, blocks * sizeof(float));
  std::memcpy(const_cast<int32_t*>(b.sum), a.sum, 2 * blocks * sizeof(int32_t));
}

}  // namespace

// ---- plain ----

void CpuStep::operator()(const op::Route& o) {
  each_row(n, [&](int64_t r) {
    route(o.router, row(o.logits, r), p.vector(o.router.correction), row(o.routes, r));
    scale_routes(o.router, p.vector(o.router.expert_scale), row(o.routes, r));
  });
}

void CpuStep::operator()(const op::ExpertLinear& o) {
  ExpertSlots& e = ws.experts;
  const kernels::PackedWeight& w = p.packed(o.w.weight);
  parallel(1, [&](int64_t) { sort_slots(row(o.routes, 0), o.n_used, o.w.count); });
  each_row(n * o.n_used, [&](int64_t place) {
    const auto at = static_cast<size_t>(place);
    const float* in = row(o.in, e.row_of[at]) + (o.slots ? e.slot_of[at] * w.k : 0);
    std::memcpy(e.in.row(place), in, static_cast<size_t>(w.k) * sizeof(float));
    if (!quantised(w)) return;
    e.in.quantise(p.vec(), place, 0, w.k, in);
    if (const int32_t i = e.rest_of[at]; i >= 0) e.in_rest.quantise_rest(p.vec(), i, e.in, place, 0, w.k, in);
  });
  const auto active = static_cast<int64_t>(e.active.size()), groups = ceil_div(w.n, kernels::kGroupRows);
  const int64_t run = std::clamp<int64_t>(groups * active / (6 * p.pool().size()), 1, groups);
  const int64_t per_expert = ceil_div(groups, run);
  parallel(active * per_expert, [&](int64_t c) {
    const Segment s = segment(e.active[static_cast<size_t>(c / per_expert)]);
    const int64_t group0 = c % per_expert * run;
    expert_product(o.w, s, false, e.in, s.first, e.in_rest, s.rest_first, e.out.as<float>() + s.first * w.n,
                   w.n, group0, std::min(groups, group0 + run));
  });
  each_row(n * o.n_used, [&](int64_t i) {
    const int64_t r = i / o.n_used, slot = i % o.n_used;
    const float* routes = row(o.routes, r);
    const float* from = e.out.as<float>() + e.place[static_cast<size_t>(i)] * w.n;
    float* out = row(o.out, r) + slot * w.n;
    p.vec().scale(from, o.weigh ? routes[o.n_used + slot] : 1.0f, out, w.n);
    if (o.w.bias != kNone)
      p.vec().add(out, p.vector(o.w.bias) + static_cast<int64_t>(routes[slot]) * w.n, out, w.n);
  });
}

void CpuStep::operator()(const op::Combine& o) {
  each_row(n, [&](int64_t r) {
    float *out = row(o.out, r), *in = row(o.in, r);
    const float* routes = row(o.routes, r);
    const int64_t k = width(o.out);
    for (int64_t slot = 0; slot < o.n_used; ++slot) {
      float* x = in + slot * k;
      if (o.weigh) p.vec().scale(x, routes[o.n_used + slot], x, k);
      if (slot == 0)
        std::memcpy(out, x, static_cast<size_t>(k) * sizeof(float));
      else
        p.vec().add(out, x, out, k);
    }
  });
}

// ---- fused ----

// Columns [first, first + count) of an expert's inner values, for all of its rows.
void CpuStep::expert_inner(const op::Moe& o, const Segment& s, int64_t first, int64_t count,
                           int64_t columns) const {
  const ExpertSlots& e = ws.experts;
  const bool one = n == 1;  // all of its experts take the one row as it is
  const ActivationBuffer &x = one ? ws.hidden : e.in, &rest = one ? ws.hidden_rest : e.in_rest;
  const int64_t x_first = one ? 0 : s.first, rest_first = one ? 0 : s.rest_first;
  const int64_t group0 = first / kernels::kGroupRows, group1 = ceil_div(first + count, kernels::kGroupRows);
  const bool quantise = quantised(p.packed(o.down.weight)), gated = o.gate.weight != kNone;
  float* g = scratch().columns.as<float>();
  float* u = g + s.m * columns;
  if (gated)
    expert_product(o.gate, s, !o.weigh_input, x, x_first, rest, rest_first, g - first, columns, group0,
                   group1);
  expert_product(o.up, s, !o.weigh_input, x, x_first, rest, rest_first, u - first, columns, group0, group1);
  const float* routes = e.routes.as<float>();
  for (int64_t t = 0; t < s.m; ++t) {
    const auto place = static_cast<size_t>(s.first + t);
    float *gt = g + t * columns, *ut = u + t * columns;
    if (o.weigh_input) {
      const float w = routes[(2 * e.row_of[place] + 1) * o.route.n_used + e.slot_of[place]];
      for (const auto& [bank, values] : {std::pair{&o.gate, gt}, std::pair{&o.up, ut}}) {
        if (bank->weight == kNone) continue;
        p.vec().scale(values, w, values, count);
        if (bank->bias != kNone)
          p.vec().add(values, p.vector(bank->bias) + s.expert * p.packed(bank->weight).n + first, values,
                      count);
      }
    }
    float* out = quantise ? ut : e.inner.row(s.first + t) + first;
    if (gated)
      glu(o.act, o.bound, gt, ut, out, count);
    else
      p.vec().activate(static_cast<int32_t>(o.act), ut, out, count);
    if (!quantise) continue;
    e.inner.quantise(p.vec(), s.first + t, first, count, out);
    if (const int32_t i = e.rest_of[place]; i >= 0)
      e.inner_rest.quantise_rest(p.vec(), i, e.inner, s.first + t, first, count, out);
  }
}

void CpuStep::shared_inner(const op::Moe& o, int64_t first, int64_t count, int64_t columns) const {
  const int64_t group0 = first / kernels::kGroupRows, group1 = ceil_div(first + count, kernels::kGroupRows);
  const bool quantise = quantised(p.packed(o.shared_down.weight)), gated = o.shared_gate.weight != kNone;
  float* g = scratch().columns.as<float>();
  float* u = g + n * columns;
  if (gated) product(o.shared_gate, ws.hidden, &ws.hidden_rest, n, g - first, columns, false, group0, group1);
  product(o.shared_up, ws.hidden, &ws.hidden_rest, n, u - first, columns, false, group0, group1);
  for (int64_t r = 0; r < n; ++r) {
    float* out = quantise ? u + r * columns : ws.inner.row(r) + first;
    if (gated)
      glu(o.act, o.bound, g + r * columns, u + r * columns, out, count);
    else
      p.vec().activate(static_cast<int32_t>(o.act), u + r * columns, out, count);
    if (quantise) quantise_columns(ws.inner, ws.inner_rest, r, first, count, out);
  }
}

// x += post(scale (sum of experts + shared)).
void CpuStep::combine_row(const op::Moe& o, int64_t r) const {
  const ExpertSlots& e = ws.experts;
  const int64_t k = width(o.x), n_used = o.route.n_used;
  const float* weights = e.routes.as<float>() + (2 * r + 1) * n_used;
  const auto at = [&](int64_t slot) {
    return e.out.as<float>() + e.place[static_cast<size_t>(r * n_used + slot)] * k;
  };
  float* sum = at(0);
  for (int64_t slot = 0; slot < n_used; ++slot) {
    if (!o.weigh_input) p.vec().scale(at(slot), weights[slot], at(slot), k);
    if (slot > 0) p.vec().add(sum, at(slot), sum, k);
  }
  if (o.shared_up.weight != kNone) {
    float* shared = ws.projected.as<float>() + r * k;
    if (o.shared_weight.weight != kNone) {
      const double logit = e.shared_weight.as<float>()[r];
      p.vec().scale(shared, static_cast<float>(1 / (1 + kernels::exp_double(-logit))), shared, k);
    }
    p.vec().add(sum, shared, sum, k);
  }
  if (o.scale != 1.0f) p.vec().scale(sum, o.scale, sum, k);
  norm(o.post, sum, sum, k);
  p.vec().add(row(o.x, r), sum, row(o.x, r), k);
}

void CpuStep::operator()(const op::Moe& o) {
  ExpertSlots& e = ws.experts;
  const bool shared = o.shared_up.weight != kNone;
  const kernels::PackedWeight &up = p.packed(o.up.weight), &down = p.packed(o.down.weight);
  const kernels::PackedWeight& router = p.packed(o.router.weight);
  bool quantise =
      quantised(up) || quantised(router) || (o.gate.weight != kNone && quantised(p.packed(o.gate.weight)));
  if (shared)
    for (const LinearSpec* w : {&o.shared_gate, &o.shared_up, &o.shared_weight})
      quantise |= w->weight != kNone && quantised(p.packed(w->weight));
  each_row(n, [&](int64_t r) { normed_input(o.norm, o.in == kNone ? o.x : o.in, r, quantise); });

  const Job route_job{&o.router, e.logits.as<float>(), router.n, false};
  if (shared && o.shared_weight.weight != kNone)
    products({route_job, {&o.shared_weight, e.shared_weight.as<float>(), 1, false}}, ws.hidden,
             ws.hidden_rest);
  else
    products({route_job}, ws.hidden, ws.hidden_rest);
  const int64_t n_used = o.route.n_used;
  each_row(n, [&](int64_t r) {
    route(o.route, e.logits.as<float>() + r * router.n, p.vector(o.route.correction),
          e.routes.as<float>() + r * 2 * n_used);
  });
  parallel(1, [&](int64_t) { sort_slots(e.routes.as<float>(), o.route.n_used, o.route.n_experts); });
  if (n > 1)
    each_row(n * n_used, [&](int64_t place) {
      const auto at = static_cast<size_t>(place);
      const int32_t r = e.row_of[at];
      copy_row(ws.hidden, r, e.in, place, up.k, quantised(up));
      if (const int32_t i = e.rest_of[at]; i >= 0 && quantised(up))
        copy_row(ws.hidden_rest, ws.rest_of[static_cast<size_t>(r)], e.in_rest, i, up.k, true);
    });

  // Inner columns of the experts that have rows, and of the shared one.
  const auto active = static_cast<int64_t>(e.active.size()), workers = int64_t{p.pool().size()};
  const int64_t shared_width = shared ? p.packed(o.shared_up.weight).n : 0;
  const int64_t all = active * up.n + shared_width;
  const int64_t columns = n > kFewRows
                              ? kFfnColumns
                              : std::clamp<int64_t>(round_up(all / (4 * workers), 32), 32, kFfnColumnsOfFew);
  const int64_t per_expert = ceil_div(up.n, columns), per_shared = ceil_div(shared_width, columns);
  parallel(per_shared + active * per_expert, [&](int64_t c) {
    if (c < per_shared) {
      const int64_t first = c * columns;
      shared_inner(o, first, std::min(columns, shared_width - first), columns);
      return;
    }
    c -= per_shared;
    const int64_t first = c % per_expert * columns;
    expert_inner(o, segment(e.active[static_cast<size_t>(c / per_expert)]), first,
                 std::min(columns, up.n - first), columns);
  });

  // Their outputs.
  const int64_t groups = ceil_div(down.n, kernels::kGroupRows);
  const int64_t run = std::clamp<int64_t>((active + (shared ? 1 : 0)) * groups / (6 * workers), 1, groups);
  const int64_t per_output = ceil_div(groups, run);
  parallel((active + (shared ? 1 : 0)) * per_output, [&](int64_t c) {
    const int64_t which = c / per_output, group0 = c % per_output * run,
                  group1 = std::min(groups, group0 + run);
    if (which == active) {
      product(o.shared_down, ws.inner, &ws.inner_rest, n, ws.projected.as<float>(), down.n, false, group0,
              group1);
      return;
    }
    const Segment s = segment(e.active[static_cast<size_t>(which)]);
    expert_product(o.down, s, true, e.inner, s.first, e.inner_rest, s.rest_first,
                   e.out.as<float>() + s.first * down.n, down.n, group0, group1);
  });
  each_row(n, [&](int64_t r) { combine_row(o, r); });
}

}  // namespace ingle::backends
