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
    emit(op::StoreKv{k, v, o.part, o.layer, o.heads});
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
  std::vector<Op> take() { return std::move(out_); }

 private:
  int64_t width(Id buffer) const { return plan_.buffers[static_cast<size_t>(buffer)].width; }
  int64_t rows(const LinearSpec& w) const { return plan_.weights[static_cast<size_t>(w.weight)].rows; }

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

  void project(Id in, Id x, const LinearSpec& w, const NormSpec& post) {
    if (post.kind == NormKind::none) {
      emit(op::Linear{in, x, w, true});
      return;
    }
    const Id y = temporary("projected", rows(w));
    linear(in, y, w);
    emit(op::Norm{y, y, post, static_cast<int32_t>(rows(w))});
    emit(op::Add{x, y, x});
  }

  backends::Plan& plan_;
  std::vector<Op> out_;
  std::map<std::pair<std::string, int64_t>, Id> temporaries_;
};

}  // namespace

backends::Plan expand(backends::Plan plan, const std::function<bool(const Op&)>& takes) {
  Expander expander(plan);
  for (const Op& o : plan.ops) {
    if (takes(o))
      expander.emit(o);
    else
      std::visit(expander, o);
  }
  plan.ops = expander.take();
  return plan;
}

}  // namespace ingle::graph
