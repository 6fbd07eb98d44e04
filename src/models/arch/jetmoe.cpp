// JetMoE: mixtures of attention heads (each expert has its own queries and output, all share keys and values)
// and of feed-forward blocks. Shen et al., arXiv:2404.07413.
#include "core/error.h"
#include "models/architecture.h"

namespace ingle::models {
namespace {

using graph::GraphBuilder;

const Names& names() {
  static const Names kNames("model.layers.", {{"attn_gate_inp", "self_attention.experts.router.layer"},
                                              {"attn_q_exps", "self_attention.experts.input_linear"},
                                              {"attn_output_exps", "self_attention.experts.output_linear"},
                                              {"attn_output_bias", "self_attention.experts.bias"},
                                              {"attn_kv", "self_attention.kv_proj"},
                                              {"ffn_gate_inp", "mlp.router.layer"},
                                              {"ffn_gate_up_exps", "mlp.input_linear"},
                                              {"ffn_down_stack", "mlp.output_linear"},
                                              {"ffn_down_bias", "mlp.bias"}});
  return kNames;
}

struct Build {
  GraphBuilder& b;
  const Config& config;
  Moe moe;
  Attention attention;
  float eps;
  Id x, normed, logits, routes, q, k, v, by_kv_head, attended, each, sum;

  graph::TensorName weight(int64_t i, const char* role) const {
    return with_suffix(names().of_layer(i, role), ".weight");
  }
  NormSpec norm(const graph::TensorName& name) const {
    return {NormKind::rms, b.vector(name, config.hidden), kNone, eps};
  }
  BankSpec bank(int64_t i, const char* role, int64_t rows, int64_t cols) const {
    BankSpec out{kNone, kNone, moe.router.n_experts};
    for (int64_t e = 0; e < out.count; ++e) {
      const Id id = b.part(weight(i, role), {out.count, rows, cols}, rows, cols,
                           {.first_row = e * rows, .slice_rows = rows});
      if (e == 0) out.weight = id;
    }
    return out;
  }
  // A bias on the weighed sum, as one on each expert: the weights sum to 1.
  Id repeated(const graph::TensorName& name) const {
    const std::vector<float> one = b.values(name, config.hidden);
    std::vector<float> all;
    for (int32_t e = 0; e < moe.router.n_experts; ++e) all.insert(all.end(), one.begin(), one.end());
    return b.made_vector(std::move(all));
  }
  // Slot after slot, or kv head after kv head, as attention wants it.
  void reorder(Id in, Id out, bool to_kv_heads) const {
    const int32_t n = moe.router.n_used, heads = attention.heads.n_kv_heads, dk = attention.heads.dk;
    for (int32_t s = 0; s < n; ++s)
      b.emit(to_kv_heads ? op::Copy{in, out, s * heads * dk, dk, s * dk, n * dk, dk, heads}
                         : op::Copy{in, out, s * dk, n * dk, s * heads * dk, dk, dk, heads});
  }

  void attend(int64_t i) const {
    const HeadShape& h = attention.heads;
    const int64_t kv = int64_t{h.n_kv_heads} * h.dk;
    const Id rotation = b.rotation(rotation_of(attention.rope));
    b.emit(op::Norm{x, normed, norm(weight(i, "attn_norm")), static_cast<int32_t>(config.hidden)});
    b.emit(op::Linear{
        normed, logits, {b.matrix(weight(i, "attn_gate_inp"), moe.router.n_experts, config.hidden)}, false});
    b.emit(op::Route{logits, routes, moe.router});
    b.emit(op::ExpertLinear{normed, q, routes, bank(i, "attn_q_exps", kv, config.hidden), moe.router.n_used,
                            false, false});
    b.emit(
        op::Linear{normed, k, {b.matrix(weight(i, "attn_kv"), kv, config.hidden, {.whole = 2 * kv})}, false});
    b.emit(op::Linear{normed,
                      v,
                      {b.matrix(weight(i, "attn_kv"), kv, config.hidden, {.first = kv, .whole = 2 * kv})},
                      false});
    b.emit(op::Rope{q, rotation, h.n_heads, h.dk});
    b.emit(op::Rope{k, rotation, h.n_kv_heads, h.dk});
    const auto slot = b.state(kv::PartKind::pages, h, 0);
    b.emit(op::StoreKv{k, v, slot.part, slot.layer, h});
    reorder(q, by_kv_head, true);
    b.emit(op::Attend{by_kv_head, attended, slot.part, slot.layer, h, attention.scale, 0});
    reorder(attended, q, false);
    BankSpec out = bank(i, "attn_output_exps", config.hidden, kv);
    out.bias = repeated(names().of_layer(i, "attn_output_bias"));
    b.emit(op::ExpertLinear{q, each, routes, out, moe.router.n_used, true, false});
    b.emit(op::Combine{each, routes, sum, moe.router.n_used, true});
    b.emit(op::Add{x, sum, x});
  }

  void experts(int64_t i) const {
    op::Moe o = claim_moe(b, config, names(), i, moe);
    o.x = x;
    o.norm = norm(weight(i, "ffn_norm"));
    o.down.bias = repeated(names().of_layer(i, "ffn_down_bias"));
    b.emit(o);
  }
};

backends::Plan build(GraphBuilder& b, const Config& given) {
  Config config = given;
  config.dk = config.dv = config.need_int({"", "kv_channels"}, 2, 1 << 16);
  config.n_rotated = config.dk;
  Moe moe = usual_moe(config, false);
  moe.router.score = RouterScore::softmax_of_chosen;
  Attention attention = usual_attention(config);
  const int64_t n = moe.router.n_used, heads = n * config.n_kv_heads * config.dk,
                kv = config.n_kv_heads * config.dk;
  attention.heads.n_heads = static_cast<int32_t>(n * config.n_kv_heads);
  const auto eps = static_cast<float>(config.need_positive({"", "rms_norm_eps"}));
  const Build layers{b,
                     config,
                     moe,
                     attention,
                     eps,
                     b.buffer(config.hidden),
                     b.buffer(config.hidden),
                     b.buffer(moe.router.n_experts),
                     b.buffer(2 * n),
                     b.buffer(heads),
                     b.buffer(kv),
                     b.buffer(kv),
                     b.buffer(heads),
                     b.buffer(heads),
                     b.buffer(n * config.hidden),
                     b.buffer(config.hidden)};
  const Id table = b.matrix({"", "model.embed_tokens.weight"}, config.n_vocab, config.hidden);
  b.emit(op::Embed{layers.x, table, 1});
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(layers.x);
    layers.attend(i), layers.experts(i);
  }
  b.mark_stream(layers.x);
  op::Head head{};
  head.x = layers.x;
  head.norm = layers.norm({"", "model.norm.weight"});
  const graph::TensorName own{"", "lm_head.weight"};
  head.w.weight = b.has(own) ? b.matrix(own, config.n_vocab, config.hidden) : table;
  head.scale = 1;
  b.emit(head);
  return b.finish(config.n_vocab, config.n_context);
}

}  // namespace

extern const Architecture kJetMoe{"", "jetmoe", "JetMoE", build};

}  // namespace ingle::models
