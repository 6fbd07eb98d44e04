#include "backends/ref/program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/ref/step.h"
#include "backends/ref/tile.h"
#include "backends/weights.h"
#include "core/error.h"
#include "kernels/vec.h"

namespace ingle::backends {

RefProgram::RefProgram(const BackendContext& context, PlanPtr plan, const PrepareOptions& options)
    : context_(context), plan_(std::move(plan)) {
  for (const PlanWeight& w : plan_->weights) {
    std::vector<std::byte> scratch;
    weights_.push_back(open_weight(*plan_->checkpoint, w, scratch));
    owned_.push_back(std::move(scratch));  // a move keeps the view's pointer
    if (options.progress &&
        !options.progress(static_cast<float>(weights_.size()) / static_cast<float>(plan_->weights.size())))
      fail(Code::cancelled, plan_->checkpoint->name(), "loading was cancelled");
  }
}

std::unique_ptr<Workspace> RefProgram::make_workspace(int64_t max_tokens, int64_t max_wanted,
                                                      int64_t /*max_slices*/) const {
  auto ws = std::make_unique<RefWorkspace>();
  std::vector<int64_t> n_rows(plan_->buffers.size(), max_tokens);
  // What follows the gathering of the wanted rows has only those.
  bool gathered = false;
  std::vector<bool> full(plan_->buffers.size());  // written before
  for (const Op& op : plan_->ops) {
    if (const auto* g = std::get_if<op::GatherWanted>(&op))
      n_rows[static_cast<size_t>(g->out)] = max_wanted, gathered = true;
    if (const auto* l = std::get_if<op::Linear>(&op)) {
      const auto out = static_cast<size_t>(l->out);
      if (!gathered) full[out] = true;
      if (!full[out]) n_rows[out] = max_wanted;
    }
  }
  for (size_t i = 0; i < n_rows.size(); ++i) {
    const auto bytes = static_cast<size_t>(n_rows[i] * plan_->buffers[i].width) * sizeof(float);
    ws->buffers.emplace_back(context_.allocator, std::max<size_t>(bytes, 64));
    ws->total_bytes += bytes;
  }
  int64_t widest = 1;
  for (const PlanWeight& w : plan_->weights) widest = std::max(widest, w.cols);
  for (int i = 0; i < context_.pool->size(); ++i)
    ws->decoded.emplace_back(context_.allocator, static_cast<size_t>(widest) * sizeof(float));
  ws->rows.reserve(max_tokens, max_wanted);
  for (const PlanRotation& r : plan_->rotations)
    ws->frequencies.reserve(std::max(ws->frequencies.capacity(), r.inverse_frequency.size()));
  return ws;
}

float activate(Activation act, float x) {
  switch (act) {
    case Activation::identity:
      return x;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu_tanh:
      return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
    case Activation::gelu_erf:
      return 0.5f * x * (1 + std::erf(x * 0.7071067812f));
    case Activation::relu:
      return std::max(x, 0.0f);
    case Activation::relu2:
      return std::max(x, 0.0f) * std::max(x, 0.0f);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::softplus:
      return std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x)));
  }
  return x;
}

// 16 sums side by side, so that the compiler may use what vectors the baseline has.
float dot(const float* a, const float* b, int64_t n) {
  float lanes[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int l = 0; l < 16; ++l) lanes[l] += a[i + l] * b[i + l];
  double sum = 0;
  for (const float lane : lanes) sum += lane;
  for (; i < n; ++i) sum += a[i] * b[i];
  return static_cast<float>(sum);
}

void RefStep::operator()(const op::Embed& o) const {
  for (int64_t r = 0; r < n; ++r) {
    float* out = row(o.out, r);
    decode(o.table, ws.rows.rows[static_cast<size_t>(r)].token, out);
    for (int64_t i = 0; i < width(o.out); ++i) out[i] *= o.scale;
  }
}

void RefStep::norm(const NormSpec& spec, const float* x, float* y, int64_t count,
                   int64_t first_weight) const {
  if (spec.kind == NormKind::none) {
    std::copy_n(x, count, y);
    return;
  }
  const float *w = vector(spec.weight), *b = vector(spec.bias);
  double mean = 0, square = 0;
  for (int64_t i = 0; i < count; ++i) mean += x[i];
  mean = spec.kind == NormKind::layer ? mean / static_cast<double>(count) : 0;
  for (int64_t i = 0; i < count; ++i) square += (x[i] - mean) * (x[i] - mean);
  const double scale = 1 / std::sqrt(square / static_cast<double>(count) + spec.eps);
  for (int64_t i = 0; i < count; ++i)
    y[i] = static_cast<float>((x[i] - mean) * scale) * (w ? w[first_weight + i] : 1) +
           (b ? b[first_weight + i] : 0);
}

void RefStep::operator()(const op::Norm& o) const {
  const bool w_is_wide =
      o.norm.weight != kNone &&
      p.plan_->vectors[static_cast<size_t>(o.norm.weight)].values.size() > static_cast<size_t>(o.group);
  for (int64_t r = 0; r < n; ++r)
    for (int64_t g = 0; g < width(o.in); g += o.group)
      norm(o.norm, row(o.in, r) + g, row(o.out, r) + g, o.group, w_is_wide ? g : 0);
}

// Those of the batch that lie before the next op.
void RefStep::give_points(size_t next_op) {
  for (; given < batch.points.size(); ++given) {
    const PointRows& wanted = batch.points[given];
    const PlanPoint& point = p.plan_->points[wanted.point];
    if (point.op > next_op) return;
    const int64_t w = width(point.buffer);
    for (int64_t r = 0; r < n; ++r) norm(point.norm, row(point.buffer, r), wanted.rows + r * w, w);
  }
}

void RefStep::operator()(const op::Linear& o) const {
  if (n == 0) return;  // a head of which no logits are wanted
  const float* bias = vector(o.w.bias);
  const int64_t k = weight(o.w.weight).cols;
  each(weight(o.w.weight).rows, [&](int64_t i, int worker) {
    float* decoded = ws.decoded[static_cast<size_t>(worker)].as<float>();
    decode(o.w.weight, i, decoded);
    for (int64_t r = 0; r < n; ++r) {
      float y = dot(decoded, row(o.in, r), k) + (bias ? bias[i] : 0);
      if (o.accumulate) y += row(o.out, r)[i];
      row(o.out, r)[i] = y;
    }
  });
}

void RefStep::operator()(const op::Rope& o) const {
  const PlanRotation& rotation = p.plan_->rotations[static_cast<size_t>(o.rotation)];
  const auto half = static_cast<int64_t>(rotation.inverse_frequency.size());
  for (int64_t r = 0; r < n; ++r) {
    const BatchRow& token = ws.rows.rows[static_cast<size_t>(r)];
    const auto position = static_cast<double>(token.position);
    const std::span<const double> frequency =
        frequencies(rotation, batch.slices[static_cast<size_t>(token.slice)], ws.frequencies);
    for (int64_t i = 0; i < half; ++i) {
      const double angle = position * frequency[static_cast<size_t>(i)];
      const auto c = static_cast<float>(std::cos(angle) * rotation.magnitude);
      const auto s = static_cast<float>(std::sin(angle) * rotation.magnitude);
      for (int h = 0; h < o.n_heads; ++h) {
        float* x = row(o.x, r) + h * o.head_width;
        const float a = x[i], b = x[i + half];
        x[i] = a * c - b * s;
        x[i + half] = b * c + a * s;
      }
    }
  }
}

namespace {

template <class Op>
StateTile key_tile(const Op& o, const kv::PartSpec& part, std::byte* page, int64_t head) {
  return {part.type, page + part.k_offset(o.layer, head), o.heads.dk, true};
}
template <class Op>
StateTile value_tile(const Op& o, const kv::PartSpec& part, std::byte* page, int64_t head) {
  return {part.type, page + part.v_offset(o.layer, head), o.heads.dv, false};
}

}  // namespace

// Of q4: the keys of a page that is not full yet, or has queries of its own.
template <class Op>
StateTile RefStep::tail_tile(const Op& o, const BatchRow& token, size_t page, int64_t head) const {
  const auto i = static_cast<size_t>(o.part + 1);
  const auto pages = batch.slices[static_cast<size_t>(token.slice)].state->pages(i);
  return key_tile(o, p.plan_->parts[i], pages[page], head);
}

void RefStep::operator()(const op::StoreKv& o) const {
  const float* center = vector(o.k_center);
  const kv::PartSpec& part = p.plan_->parts[static_cast<size_t>(o.part)];
  for (int64_t r = 0; r < n; ++r) {
    const BatchRow& token = ws.rows.rows[static_cast<size_t>(r)];
    const auto pages =
        batch.slices[static_cast<size_t>(token.slice)].state->pages(static_cast<size_t>(o.part));
    const auto number = static_cast<size_t>(token.position / kv::kPageTokens);
    std::byte* page = pages[number];
    const int64_t slot = token.position % kv::kPageTokens;
    for (int64_t h = 0; h < o.heads.n_kv_heads; ++h) {
      const StateTile keys = key_tile(o, part, page, h);
      const StateTile fine = part.type == kv::StateType::q4 ? tail_tile(o, token, number, h) : keys;
      fine.store(slot, row(o.k, r) + h * o.heads.dk, center ? center + h * o.heads.dk : nullptr);
      if (part.type == kv::StateType::q4 && slot == kv::kPageTokens - 1) keys.close(fine);
      value_tile(o, part, page, h).store(slot, row(o.v, r) + h * o.heads.dv, nullptr);
    }
  }
}

void RefStep::operator()(const op::Attend& o) const {
  each(n * o.heads.n_heads, [&](int64_t i, int) { attend_one(o, i / o.heads.n_heads, i % o.heads.n_heads); });
}

void RefStep::attend_one(const op::Attend& o, int64_t r, int64_t head) const {
  const kv::PartSpec& part = p.plan_->parts[static_cast<size_t>(o.part)];
  const BatchRow& token = ws.rows.rows[static_cast<size_t>(r)];
  const auto pages = batch.slices[static_cast<size_t>(token.slice)].state->pages(static_cast<size_t>(o.part));
  const int64_t kv_head = head / (o.heads.n_heads / o.heads.n_kv_heads);
  const int64_t first = first_seen(o, part, token.position);
  const float* slopes = vector(o.slopes);
  std::vector<float> q(row(o.q, r) + head * o.heads.dk, row(o.q, r) + (head + 1) * o.heads.dk);
  if (part.type == kv::StateType::q8) turn(q.data(), o.heads.dk);
  float* out = row(o.out, r) + head * o.heads.dv;
  const auto logit_at = [&](int64_t t) {
    const auto page = static_cast<size_t>(t / kv::kPageTokens);
    const bool fine =
        part.type == kv::StateType::q4 && t / kv::kPageTokens == token.position / kv::kPageTokens;
    const StateTile k = fine ? tail_tile(o, token, page, kv_head) : key_tile(o, part, pages[page], kv_head);
    double s = 0;
    for (int64_t i = 0; i < o.heads.dk; ++i)
      s += double{q[static_cast<size_t>(i)]} * k.value(t % kv::kPageTokens, i);
    s *= double{o.scale} * k.scale(t % kv::kPageTokens);
    if (slopes) s += double{slopes[head]} * static_cast<double>(t - token.position);
    return o.softcap > 0 ? o.softcap * std::tanh(s / o.softcap) : s;
  };
  // Online softmax: the running maximum, sum and output are rescaled when a larger logit comes.
  double largest = -INFINITY, sum = 0;
  std::fill_n(out, o.heads.dv, 0.0f);
  for (int64_t t = first; t <= token.position; ++t) {
    const double logit = logit_at(t), m = std::max(largest, logit);
    const double keep = std::exp(largest - m), weight = std::exp(logit - m);
    const StateTile v = value_tile(o, part, pages[static_cast<size_t>(t / kv::kPageTokens)], kv_head);
    const double share = weight * v.scale(t % kv::kPageTokens);
    for (int64_t i = 0; i < o.heads.dv; ++i)
      out[i] = static_cast<float>(out[i] * keep + share * v.value(t % kv::kPageTokens, i));
    sum = sum * keep + weight;
    largest = m;
  }
  if (const float* sinks = vector(o.sinks)) {
    const double m = std::max(largest, double{sinks[head]}), keep = std::exp(largest - m);
    sum = sum * keep + std::exp(double{sinks[head]} - m);
    for (int64_t i = 0; i < o.heads.dv; ++i) out[i] = static_cast<float>(out[i] * keep);
  }
  for (int64_t i = 0; i < o.heads.dv; ++i) out[i] = static_cast<float>(out[i] / sum);
  if (part.type == kv::StateType::q4) turn(out, o.heads.dv);
}

void RefStep::operator()(const op::Glu& o) const {
  const GluBound& bound = o.bound;
  elementwise(o.out, [&](int64_t r, int64_t i) {
    float gate = row(o.gate, r)[i], up = row(o.up, r)[i];
    if (bound.limit > 0) {
      gate = bound.alpha * std::min(gate, bound.limit);
      up = (std::clamp(up, -bound.limit, bound.limit) + bound.up_offset) / bound.alpha;
    }
    return activate(o.act, gate) * up;
  });
}
void RefStep::operator()(const op::Activate& o) const {
  elementwise(o.out, [&](int64_t r, int64_t i) { return activate(o.act, row(o.in, r)[i]); });
}
void RefStep::operator()(const op::Add& o) const {
  elementwise(o.out, [&](int64_t r, int64_t i) { return row(o.a, r)[i] + row(o.b, r)[i]; });
}
void RefStep::operator()(const op::Scale& o) const {
  elementwise(o.out, [&](int64_t r, int64_t i) { return row(o.in, r)[i] * o.factor; });
}
void RefStep::operator()(const op::Softcap& o) const {
  elementwise(o.out, [&](int64_t r, int64_t i) { return o.cap * std::tanh(row(o.in, r)[i] / o.cap); });
}
void RefStep::operator()(const op::GatherWanted& o) {
  const auto bytes = static_cast<size_t>(width(o.in)) * sizeof(float);
  for (int64_t w = 0; w < ws.rows.n_wanted(); ++w)
    std::memcpy(row(o.out, w), row(o.in, ws.rows.wanted[static_cast<size_t>(w)]), bytes);
  n = ws.rows.n_wanted();
}
void RefStep::operator()(const op::Output& o) const {
  for (int64_t r = 0; r < n; ++r)
    std::memcpy(batch.logits_row(r, width(o.in)), row(o.in, r),
                static_cast<size_t>(width(o.in)) * sizeof(float));
}

void RefProgram::run(Workspace& workspace, const Batch& batch) const noexcept {
  auto& ws = static_cast<RefWorkspace&>(workspace);
  ws.rows.fill(batch);
  RefStep step{*this, ws, batch, ws.rows.size()};
  for (size_t i = 0; i < plan_->ops.size(); ++i) {
    step.give_points(i);
    if (batch.cancel && batch.cancel->load(std::memory_order_relaxed)) {
      std::fill(batch.status.begin(), batch.status.end(), StepStatus::cancelled);
      return;
    }
    std::visit([&](const auto& o) { step(o); }, plan_->ops[i]);
  }
  check_logits(batch, plan_->n_vocab);
}

}  // namespace ingle::backends
