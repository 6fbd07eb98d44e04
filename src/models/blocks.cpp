#include "models/blocks.h"

#include <cmath>

#include "core/error.h"

namespace ingle::models {
namespace {

using graph::GraphBuilder;
using graph::RowOrder;
using graph::TensorName;

TensorName of_layer(int64_t index, const char* gguf, const char* hugging_face) {
  const std::string i = std::to_string(index);
  return {"blk." + i + "." + gguf, "model.layers." + i + "." + hugging_face};
}
TensorName with(const TensorName& name, const char* suffix) {
  return {name.gguf + suffix, name.hugging_face + suffix};
}

LinearSpec linear(GraphBuilder& b, const TensorName& name, int64_t out, int64_t in, Presence bias,
                  RowOrder order = {}) {
  LinearSpec w;
  w.weight = b.matrix(with(name, ".weight"), out, in, order);
  if (bias == Presence::yes) w.bias = b.vector(with(name, ".bias"), out, order);
  if (bias == Presence::optional) w.bias = b.find_vector(with(name, ".bias"), out, order);
  return w;
}

struct DecoderBuild {
  GraphBuilder& b;
  const Config& config;
  const Decoder& decoder;
  float norm_eps;
  Id x, q, attended;

  NormSpec norm(const TensorName& name, int64_t width, NormKind kind) const {
    NormSpec n{kind, b.vector(with(name, ".weight"), width), kNone, norm_eps};
    if (kind == NormKind::layer) n.bias = b.find_vector(with(name, ".bias"), width);
    return n;
  }

  Id rotation(const Rope& rope) const {
    backends::PlanRotation r;
    const int64_t n = rope.n_rotated / 2;
    for (int64_t i = 0; i < n; ++i) {
      double f = std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(rope.n_rotated));
      f /= rope.linear_factor;
      if (!rope.frequency_factors.empty())
        f /= static_cast<double>(rope.frequency_factors[static_cast<size_t>(i)]);
      r.inverse_frequency.push_back(f);
    }
    return b.rotation(std::move(r));
  }

  void attention(int64_t i, const Layer& layer) const {
    const Attention& a = layer.attention;
    const HeadShape& h = a.heads;
    RowOrder order;
    if (a.rope.adjacent_pairs && b.checkpoint().naming() == formats::Naming::gguf)
      order = {h.dk, a.rope.n_rotated, 0};
    op::AttentionInput in{};
    in.x = x;
    in.q = q;
    in.norm = norm(of_layer(i, "attn_norm", "input_layernorm"), config.hidden, decoder.norm);
    in.wq = linear(b, of_layer(i, "attn_q", "self_attn.q_proj"), int64_t{h.n_heads} * h.dk, config.hidden,
                   a.qkv_bias, order);
    in.wk = linear(b, of_layer(i, "attn_k", "self_attn.k_proj"), int64_t{h.n_kv_heads} * h.dk, config.hidden,
                   a.qkv_bias, order);
    in.wv = linear(b, of_layer(i, "attn_v", "self_attn.v_proj"), int64_t{h.n_kv_heads} * h.dv, config.hidden,
                   a.qkv_bias);
    if (a.head_norms) {
      in.q_norm = norm(of_layer(i, "attn_q_norm", "self_attn.q_norm"), h.dk, NormKind::rms);
      in.k_norm = norm(of_layer(i, "attn_k_norm", "self_attn.k_norm"), h.dk, NormKind::rms);
    }
    in.rotation = rotation(a.rope);
    const auto slot = b.state(a.window ? kv::PartKind::window : kv::PartKind::pages, h, a.window);
    in.part = slot.part;
    in.layer = slot.layer;
    in.heads = h;
    b.emit(in);
    b.emit(op::Attend{q, attended, slot.part, slot.layer, h, a.scale, a.softcap});
    NormSpec post;
    if (layer.post_norms)
      post =
          norm(of_layer(i, "post_attention_norm", "post_attention_layernorm"), config.hidden, decoder.norm);
    b.emit(op::ProjectResidual{attended, x,
                               linear(b, of_layer(i, "attn_output", "self_attn.o_proj"), config.hidden,
                                      int64_t{h.n_heads} * h.dv, a.output_bias),
                               post});
  }

  void mlp(int64_t i, const Layer& layer) const {
    const Mlp& m = layer.mlp;
    op::GatedFfn ffn{};
    ffn.x = x;
    ffn.act = m.act;
    const char* pre = layer.post_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm";
    ffn.norm = norm(of_layer(i, "ffn_norm", pre), config.hidden, decoder.norm);
    ffn.gate = linear(b, of_layer(i, "ffn_gate", "mlp.gate_proj"), m.width, config.hidden, m.bias);
    ffn.up = linear(b, of_layer(i, "ffn_up", "mlp.up_proj"), m.width, config.hidden, m.bias);
    ffn.down = linear(b, of_layer(i, "ffn_down", "mlp.down_proj"), config.hidden, m.width, m.bias);
    if (layer.post_norms)
      ffn.post =
          norm(of_layer(i, "post_ffw_norm", "post_feedforward_layernorm"), config.hidden, decoder.norm);
    b.emit(ffn);
  }
};

}  // namespace

Rope read_rope(const Config& config) {
  Rope rope;
  rope.theta = config.need_positive("rope.freq_base");
  rope.n_rotated = config.n_rotated;
  const std::string where = config.file().name();
  const std::string* kind = config.find_string("rope.scaling.type");
  if (kind && *kind != "none" && *kind != "linear")
    fail(Code::unsupported, where + ", key " + config.prefixed("rope.scaling.type"),
         format("RoPE scaling '{}' is not understood; expected none or linear", *kind));
  // A factor without a type is linear, as llama.cpp has it.
  if (kind ? *kind == "linear" : config.find_float("rope.scaling.factor").has_value())
    rope.linear_factor = config.need_positive("rope.scaling.factor");
  if (config.find_float("rope.scale_linear") && !kind)
    fail(Code::unsupported, where + ", key " + config.prefixed("rope.scale_linear"),
         "the old spelling of linear RoPE scaling", "convert the file with a current converter");
  return rope;
}

Attention usual_attention(const Config& config) {
  Attention a;
  a.heads = {static_cast<int32_t>(config.n_heads), static_cast<int32_t>(config.n_kv_heads),
             static_cast<int32_t>(config.dk), static_cast<int32_t>(config.dv)};
  a.rope = read_rope(config);
  a.window = config.window.value_or(0);
  a.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.dk)));
  return a;
}

Mlp usual_mlp(const Config& config) { return {config.n_ffn, Activation::silu, Presence::no}; }

backends::Plan build_decoder(GraphBuilder& b, const Config& config, const Decoder& decoder) {
  const TensorName embedding{"token_embd.weight", "model.embed_tokens.weight"};
  const TensorName output{"output.weight", "lm_head.weight"};
  const char* epsilon =
      decoder.norm == NormKind::layer ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  const Attention first = decoder.layer(0).attention;
  DecoderBuild build{b,
                     config,
                     decoder,
                     static_cast<float>(config.need_positive(epsilon)),
                     b.buffer(config.hidden),
                     b.buffer(int64_t{first.heads.n_heads} * first.heads.dk),
                     b.buffer(int64_t{first.heads.n_heads} * first.heads.dv)};
  const Id table = b.matrix(embedding, config.n_vocab, config.hidden);
  b.emit(op::Embed{build.x, table, decoder.embedding_scale});
  for (int64_t i = 0; i < config.n_layers; ++i) {
    const Layer layer = decoder.layer(i);
    build.attention(i, layer);
    build.mlp(i, layer);
  }
  op::Head head{};
  head.x = build.x;
  head.norm = build.norm({"output_norm", "model.norm"}, config.hidden, decoder.norm);
  head.w.weight = b.has(output) ? b.matrix(output, config.n_vocab, config.hidden) : table;
  head.scale = 1;
  head.softcap = decoder.logit_softcap;
  b.emit(head);
  return b.finish(config.n_vocab, config.n_context);
}

}  // namespace ingle::models
