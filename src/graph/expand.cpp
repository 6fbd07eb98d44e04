#include "graph/expand.h"

#include <map>

namespace ingle::graph {
namespace {

// Collects plain ops; temporaries of one width are shared between expansions, since those run one after
// another.
class Expander {
 public:
  explicit Expander(backends::Plan& plan) : plan_(plan) {}

  void operator()(const op::AttentionInput& o) {
    const int64_t width = rows(o.wk);
    const Id xn = norm(o.x, o.norm, 0);
    const Id k = temporary("k", width), v = temporary("v", rows(o.wv));
    linear(xn, o.q, o.wq);
    linear(xn, k, o.wk);
    linear(xn, v, o.wv);
    head_norm(o.q, o.q_norm, o.heads.dk);
    head_norm(k, o.k_norm, o.heads.dk);
    if (o.rotation != kNone) {
      emit(op::Rope{o.q, o.rotation, o.heads.n_heads, o.heads.dk});
      emit(op::Rope{k, o.rotation, o.heads.n_kv_heads, o.heads.dk});
    }
    emit(op::StoreKv{k, v, o.part, o.layer, o.heads, o.k_center});
  }

  void operator()(const op::ProjectResidual& o) { project(o.in, o.x, o.w, o.post); }

  void operator()(const op::GatedFfn& o) {
    const Id xn = norm(o.x, o.norm, 0);
    const Id gate = temporary("gate", rows(o.gate)), up = temporary("up", rows(o.up));
    linear(xn, gate, o.gate);
    linear(xn, up, o.up);
    emit(op::Glu{gate, up, up, o.act});
    project(up, o.x, o.down, o.post);
  }

  void operator()(const op::Mla& o) {
    const int32_t h = o.n_heads;
    const bool absorbed = o.k_up.weight != kNone;
    const int32_t inner = absorbed ? o.rank : o.nope, dk = o.rope + inner, dv = absorbed ? o.rank : o.dv;
    const Id xn = norm(o.x, o.norm, 0);
    Id from = xn;
    if (o.q_a.weight != kNone) {
      from = temporary("q_a", rows(o.q_a));
      linear(xn, from, o.q_a);
      emit(op::Norm{from, from, o.q_norm, static_cast<int32_t>(width(from))});
    }
    const Id q = temporary("q", int64_t{h} * dk), q_rope = temporary("q_rope", int64_t{h} * o.rope),
             q_nope = temporary("q_nope", int64_t{h} * o.nope);
    linear(from, q_rope, o.q_rope);
    linear(from, q_nope, o.q_nope);
    emit(op::Rope{q_rope, o.rotation, h, o.rope});
    emit(op::Copy{q_rope, q, 0, o.rope, 0, dk, o.rope, h});
    const Id latent = temporary("latent", o.rank), k_rope = temporary("k_rope", o.rope);
    linear(xn, latent, o.latent);
    emit(op::Norm{latent, latent, o.latent_norm, o.rank});
    linear(xn, k_rope, o.k_rope);
    emit(op::Rope{k_rope, o.rotation, 1, o.rope});
    const HeadShape heads{h, absorbed ? 1 : h, dk, dv};
    const Id k = temporary("k", int64_t{heads.n_kv_heads} * dk);
    emit(op::Copy{k_rope, k, 0, 0, 0, dk, o.rope, heads.n_kv_heads});
    const Id attended = temporary("attended", int64_t{h} * dv);
    if (absorbed) {
      emit(op::HeadLinear{q_nope, q, o.k_up, o.rope, dk});
      emit(op::Copy{latent, k, 0, 0, o.rope, 0, o.rank, 1});
      emit(op::StoreKv{k, latent, o.part, o.layer, heads});
    } else {
      emit(op::Copy{q_nope, q, 0, o.nope, o.rope, dk, o.nope, h});
      const Id k_nope = temporary("k_nope", int64_t{h} * o.nope), v = temporary("v", int64_t{h} * o.dv);
      linear(latent, k_nope, o.k_all);
      linear(latent, v, o.v_all);
      emit(op::Copy{k_nope, k, 0, o.nope, o.rope, dk, o.nope, h});
      emit(op::StoreKv{k, v, o.part, o.layer, heads});
    }
    if (o.beta != 0) emit(op::ScaleByPosition{q, o.beta, o.span, o.offset});
    emit(op::Attend{q, attended, o.part, o.layer, heads, o.scale, 0});
    Id last = attended;
    if (absorbed) {
      last = temporary("values", int64_t{h} * o.dv);
      emit(op::HeadLinear{attended, last, o.v_up, 0, o.dv});
    }
    project(last, o.x, o.out, o.post, o.residual);
  }

  void operator()(const op::Moe& o) {
    const Id xn = norm(o.in == kNone ? o.x : o.in, o.norm, 0);
    const int64_t hidden = width(o.x), n_used = o.route.n_used, inner = rows(o.up.weight) * n_used;
    const Id logits = temporary("logits", o.route.n_experts), routes = temporary("routes", 2 * n_used);
    linear(xn, logits, o.router);
    emit(op::Route{logits, routes, o.route});
    const auto used = static_cast<int32_t>(n_used);
    const Id up = temporary("up", inner), each = temporary("experts", hidden * n_used);
    emit(op::ExpertLinear{xn, up, routes, o.up, used, false, o.weigh_input});
    if (o.gate.weight != kNone) {
      const Id gate = temporary("gate", inner);
      emit(op::ExpertLinear{xn, gate, routes, o.gate, used, false, o.weigh_input});
      emit(op::Glu{gate, up, up, o.act, o.bound});
    } else {
      emit(op::Activate{up, up, o.act});
    }
    emit(op::ExpertLinear{up, each, routes, o.down, used, true, false});
    const Id sum = temporary("sum", hidden);
    emit(op::Combine{each, routes, sum, used, !o.weigh_input});
    if (o.shared_up.weight != kNone) emit(op::Add{sum, shared(o, xn), sum});
    if (o.scale != 1.0f) emit(op::Scale{sum, sum, o.scale});
    if (o.post.kind != NormKind::none) emit(op::Norm{sum, sum, o.post, static_cast<int32_t>(hidden)});
    emit(op::Add{o.x, sum, o.x});
  }

  void operator()(const op::Head& o) {
    const Id wanted = temporary("wanted", width(o.x));
    emit(op::GatherWanted{o.x, wanted});
    const Id xn = norm(wanted, o.norm, 0);
    const Id logits = temporary("logits", rows(o.w));
    linear(xn, logits, o.w);
    if (o.scale != 1.0f) emit(op::Scale{logits, logits, o.scale});
    if (o.softcap > 0) emit(op::Softcap{logits, logits, o.softcap});
    emit(op::Output{logits});
  }

  template <class Plain>
  void operator()(const Plain& o) {
    emit(o);
  }

  void emit(Op o) { out_.push_back(o); }
  size_t size() const { return out_.size(); }
  std::vector<Op> take() { return std::move(out_); }

 private:
  int64_t width(Id buffer) const { return plan_.buffers[static_cast<size_t>(buffer)].width; }
  int64_t rows(const LinearSpec& w) const { return rows(w.weight); }
  int64_t rows(Id weight) const { return plan_.weights[static_cast<size_t>(weight)].rows; }

  Id temporary(const char* role, int64_t w) {
    const auto [it, added] = temporaries_.try_emplace({role, w}, kNone);
    if (added) {
      it->second = static_cast<Id>(plan_.buffers.size());
      plan_.buffers.push_back({w});
    }
    return it->second;
  }

  Id norm(Id in, const NormSpec& spec, int32_t group) {
    if (spec.kind == NormKind::none) return in;
    const Id out = temporary("normed", width(in));
    emit(op::Norm{in, out, spec, group ? group : static_cast<int32_t>(width(in))});
    return out;
  }
  void head_norm(Id x, const NormSpec& spec, int32_t head_width) {
    if (spec.kind != NormKind::none) emit(op::Norm{x, x, spec, head_width});
  }
  void linear(Id in, Id out, const LinearSpec& w) { emit(op::Linear{in, out, w, false}); }

  // The shared expert's output.
  Id shared(const op::Moe& o, Id xn) {
    const Id up = temporary("up", rows(o.shared_up)), out = temporary("shared", width(o.x));
    linear(xn, up, o.shared_up);
    if (o.shared_gate.weight != kNone) {
      const Id gate = temporary("gate", rows(o.shared_gate));
      linear(xn, gate, o.shared_gate);
      emit(op::Glu{gate, up, up, o.act, o.bound});
    } else {
      emit(op::Activate{up, up, o.act});
    }
    linear(up, out, o.shared_down);
    if (o.shared_weight.weight != kNone) {
      const Id weight = temporary("shared weight", 1);
      linear(xn, weight, o.shared_weight);
      emit(op::Gate{out, weight, Activation::sigmoid, static_cast<int32_t>(width(out))});
    }
    return out;
  }

  void project(Id in, Id x, const LinearSpec& w, const NormSpec& post, float scale = 1) {
    if (post.kind == NormKind::none && scale == 1.0f) {
      emit(op::Linear{in, x, w, true});
      return;
    }
    const Id y = temporary("projected", rows(w));
    linear(in, y, w);
    if (post.kind != NormKind::none) emit(op::Norm{y, y, post, static_cast<int32_t>(rows(w))});
    if (scale != 1.0f) emit(op::Scale{y, y, scale});
    emit(op::Add{x, y, x});
  }

  backends::Plan& plan_;
  std::vector<Op> out_;
  std::map<std::pair<std::string, int64_t>, Id> temporaries_;
};

}  // namespace

backends::Plan expand(backends::Plan plan, const std::function<bool(const Op&)>& takes) {
  Expander expander(plan);
  auto point = plan.points.begin();  // they are in the order of the ops
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    for (; point != plan.points.end() && point->op == i; ++point) point->op = expander.size();
    const Op& o = plan.ops[i];
    if (takes(o))
      expander.emit(o);
    else
      std::visit(expander, o);
  }
  plan.ops = expander.take();
  return plan;
}

}  // namespace ingle::graph
