#include "models/blocks.h"

#include <cmath>

#include "core/error.h"

namespace ingle::models {
namespace {

using graph::GraphBuilder;
using graph::RowOrder;
using graph::TensorName;

LinearSpec linear(GraphBuilder& b, const TensorName& name, int64_t out, int64_t in, Presence bias,
                  const RowOrder& order = {}) {
  LinearSpec w;
  w.weight = b.matrix(with_suffix(name, ".weight"), out, in, order);
  if (bias == Presence::yes) w.bias = b.vector(with_suffix(name, ".bias"), out, order);
  if (bias == Presence::optional) w.bias = b.find_vector(with_suffix(name, ".bias"), out, order);
  return w;
}

struct DecoderBuild {
  GraphBuilder& b;
  const Config& config;
  const Decoder& decoder;
  float norm_eps;
  Id x, q, attended;

  TensorName name(int64_t i, std::string_view role) const { return decoder.names.of_layer(i, role); }

  NormSpec norm(const TensorName& name, int64_t width, NormKind kind, const RowOrder& order = {}) const {
    const float plus = config.is_gguf() ? 0 : decoder.norm_plus;
    NormSpec n{kind, b.vector(with_suffix(name, ".weight"), width, order, plus), kNone, norm_eps};
    if (kind == NormKind::layer) n.bias = b.find_vector(with_suffix(name, ".bias"), width, order);
    return n;
  }

  // The order of Q's and K's rows that puts rotated pairs half a rotation apart.
  RowOrder pairs_of(const Attention& a) const {
    const bool adjacent =
        a.rope.pairs == Pairs::adjacent || (a.rope.pairs == Pairs::adjacent_in_gguf && config.is_gguf());
    RowOrder order;
    if (adjacent) order.head_width = a.heads.dk, order.rotated = a.rope.n_rotated;
    return order;
  }

  void qkv(int64_t i, const Attention& a, op::AttentionInput& in) const {
    const HeadShape& h = a.heads;
    const int64_t nq = int64_t{h.n_heads} * h.dk, nk = int64_t{h.n_kv_heads} * h.dk,
                  nv = int64_t{h.n_kv_heads} * h.dv;
    RowOrder oq = pairs_of(a), ok = oq, ov;
    const TensorName fused = name(i, "attn_qkv");
    if (!b.has(with_suffix(fused, ".weight"))) {
      in.wq = linear(b, name(i, "attn_q"), nq, config.hidden, a.qkv_bias, oq);
      in.wk = linear(b, name(i, "attn_k"), nk, config.hidden, a.qkv_bias, ok);
      in.wv = linear(b, name(i, "attn_v"), nv, config.hidden, a.qkv_bias, ov);
      return;
    }
    oq.whole = ok.whole = ov.whole = nq + nk + nv;
    ok.first = nq, ov.first = nq + nk;
    if (a.fused == FusedQkv::heads && !config.is_gguf()) {
      const int64_t group = nq / h.n_kv_heads;
      oq.stride = ok.stride = ov.stride = group + h.dk + h.dv;
      oq.run = group, ok.run = h.dk, ov.run = h.dv;
      ok.first = group, ov.first = group + h.dk;
    }
    in.wq = linear(b, fused, nq, config.hidden, a.qkv_bias, oq);
    in.wk = linear(b, fused, nk, config.hidden, a.qkv_bias, ok);
    in.wv = linear(b, fused, nv, config.hidden, a.qkv_bias, ov);
  }

  void attention(int64_t i, const Layer& layer) const {
    const Attention& a = layer.attention;
    const HeadShape& h = a.heads;
    op::AttentionInput in{};
    in.x = x;
    in.q = q;
    in.norm = norm(name(i, "attn_norm"), config.hidden, decoder.norm);
    qkv(i, a, in);
    if (a.head_norms) {
      in.q_norm = norm(name(i, "attn_q_norm"), h.dk, NormKind::rms, pairs_of(a));
      in.k_norm = norm(name(i, "attn_k_norm"), h.dk, NormKind::rms, pairs_of(a));
    }
    in.rotation = b.rotation(rotation_of(a.rope));
    const auto slot = b.state(a.window ? kv::PartKind::window : kv::PartKind::pages, h, a.window);
    in.part = slot.part;
    in.layer = slot.layer;
    in.heads = h;
    b.emit(in);
    b.emit(op::Attend{q, attended, slot.part, slot.layer, h, a.scale, a.softcap});
    NormSpec post;
    if (layer.post_norms) post = norm(name(i, "post_attention_norm"), config.hidden, decoder.norm);
    b.emit(op::ProjectResidual{
        attended, x,
        linear(b, name(i, "attn_output"), config.hidden, int64_t{h.n_heads} * h.dv, a.output_bias), post});
  }

  void mlp(int64_t i, const Layer& layer) const {
    const Mlp& m = layer.mlp;
    op::GatedFfn ffn{};
    ffn.x = x;
    ffn.act = m.act;
    TensorName pre = name(i, "ffn_norm");
    if (layer.post_norms && pre.hugging_face == name(i, "post_attention_norm").hugging_face)
      pre.hugging_face = name(i, "pre_ffw_norm").hugging_face;
    ffn.norm = norm(pre, config.hidden, decoder.norm);
    RowOrder gate_rows, up_rows;
    if (m.fused_gate) gate_rows.whole = up_rows.whole = 2 * m.width, up_rows.first = m.width;
    ffn.gate =
        linear(b, name(i, m.fused_gate ? "ffn_up" : "ffn_gate"), m.width, config.hidden, m.bias, gate_rows);
    ffn.up = linear(b, name(i, "ffn_up"), m.width, config.hidden, m.bias, up_rows);
    ffn.down = linear(b, name(i, "ffn_down"), config.hidden, m.width, m.bias);
    if (layer.post_norms) ffn.post = norm(name(i, "post_ffw_norm"), config.hidden, decoder.norm);
    b.emit(ffn);
  }

  // A tied head may still have its own copy in the file, which nobody reads.
  Id output(Id table) const {
    const TensorName own = with_suffix(decoder.names.of_model("output"), ".weight");
    const std::optional<bool> tied = config.find_bool({"", "tie_word_embeddings"});
    if (tied.value_or(!b.has(own))) return b.leave_out(own), table;
    return config.is_gguf() && !b.has(own) ? table : b.matrix(own, config.n_vocab, config.hidden);
  }
};

}  // namespace

Attention usual_attention(const Config& config, const std::string& layers) {
  Attention a;
  a.heads = {static_cast<int32_t>(config.n_heads), static_cast<int32_t>(config.n_kv_heads),
             static_cast<int32_t>(config.dk), static_cast<int32_t>(config.dv)};
  a.rope = read_rope(config, layers);
  a.window = config.window.value_or(0);
  a.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.dk)));
  return a;
}

Mlp usual_mlp(const Config& config) { return {config.n_ffn, Activation::silu, Presence::no, false}; }

backends::Plan build_decoder(GraphBuilder& b, const Config& config, const Decoder& decoder) {
  constexpr Key kRmsEps{"attention.layer_norm_rms_epsilon", "rms_norm_eps|layer_norm_eps|norm_eps"};
  constexpr Key kLayerEps{"attention.layer_norm_epsilon",
                          "layer_norm_eps|layer_norm_epsilon|norm_epsilon|norm_eps|layernorm_epsilon"};
  const Attention first = decoder.layer(0).attention;
  DecoderBuild build{
      b,
      config,
      decoder,
      static_cast<float>(config.need_positive(decoder.norm == NormKind::layer ? kLayerEps : kRmsEps)),
      b.buffer(config.hidden),
      b.buffer(int64_t{first.heads.n_heads} * first.heads.dk),
      b.buffer(int64_t{first.heads.n_heads} * first.heads.dv)};
  const Id table =
      b.matrix(with_suffix(decoder.names.of_model("token_embd"), ".weight"), config.n_vocab, config.hidden);
  b.emit(op::Embed{build.x, table, decoder.embedding_scale});
  for (int64_t i = 0; i < config.n_layers; ++i) {
    const Layer layer = decoder.layer(i);
    build.attention(i, layer);
    build.mlp(i, layer);
  }
  op::Head head{};
  head.x = build.x;
  head.norm = build.norm(decoder.names.of_model("output_norm"), config.hidden, decoder.norm);
  head.w.weight = build.output(table);
  head.scale = 1;
  head.softcap = decoder.logit_softcap;
  b.emit(head);
  return b.finish(config.n_vocab, config.n_context);
}

}  // namespace ingle::models
