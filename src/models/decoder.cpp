// From the specs of blocks.h to ops: fused ones where a block is of the usual kind, plain ones where not.
#include <cmath>
#include <map>

#include "core/error.h"
#include "models/blocks.h"

namespace ingle::models {
namespace {

using graph::GraphBuilder;
using graph::RowOrder;
using graph::TensorName;

// Slopes of ALiBi, Press et al., arXiv:2108.12409: a geometric row for a power of two of heads; else the row
// of the next lower power, then every other one of twice as many.
std::vector<float> alibi_slopes(int64_t n_heads, double max, double scale) {
  int64_t power = 1;
  while (2 * power <= n_heads) power *= 2;
  std::vector<float> out;
  for (int64_t h = 0; h < n_heads; ++h) {
    const double step = h < power ? static_cast<double>(h + 1) : static_cast<double>(h - power) + 0.5;
    out.push_back(static_cast<float>(scale * std::exp2(-max * step / static_cast<double>(power))));
  }
  return out;
}

class DecoderBuild {
 public:
  DecoderBuild(GraphBuilder& b, const Config& config, const Decoder& decoder)
      : b_(b), config_(config), decoder_(decoder), x_(b.buffer(config.hidden)) {
    constexpr Key kRmsEps{"attention.layer_norm_rms_epsilon", "rms_norm_eps|layer_norm_eps|norm_eps"};
    constexpr Key kLayerEps{"attention.layer_norm_epsilon",
                            "layer_norm_eps|layer_norm_epsilon|norm_epsilon|norm_eps|layernorm_epsilon"};
    norm_eps_ = decoder.norm_eps;
    if (norm_eps_ == 0)
      norm_eps_ =
          static_cast<float>(config.need_positive(decoder.norm == NormKind::layer ? kLayerEps : kRmsEps));
  }

  void build() {
    const Id table = embedding();
    for (int64_t i = 0; i < config_.n_layers; ++i) {
      b_.mark_stream(x_);
      const Layer layer = decoder_.layer(i);
      for (const char* vain :
           {"self_attn.rotary_emb.inv_freq", "attention.rotary_emb.inv_freq", "attn.bias", "attn.masked_bias",
            "attention.bias", "attention.masked_bias", "attn.attention.bias", "attn.attention.masked_bias"})
        b_.leave_out(decoder_.names.of_layer_exactly(i, vain));  // buffers of older checkpoints
      const Id before = layer.parallel ? input_of_parallel(i, layer) : kNone;
      attention(i, layer);
      mlp(i, layer, before);
    }
    head(table);
    for (int64_t i = 0; i < config_.n_predictors; ++i)
      b_.leave_out_under(decoder_.names.layer(config_.n_layers + i));
  }

 private:
  // ---- tensors ----

  TensorName name(int64_t i, std::string_view role) const { return decoder_.names.of_layer(i, role); }
  TensorName name(std::string_view role) const { return decoder_.names.of_model(role); }

  LinearSpec linear(const TensorName& n, int64_t out, int64_t in, Presence bias, RowOrder order = {}) const {
    order.transposed = decoder_.conv1d && !config_.is_gguf();
    LinearSpec w;
    w.weight = b_.matrix(with_suffix(n, ".weight"), out, in, order);
    order.transposed = false;
    if (bias == Presence::yes) w.bias = b_.vector(with_suffix(n, ".bias"), out, order);
    if (bias == Presence::optional) w.bias = b_.find_vector(with_suffix(n, ".bias"), out, order);
    return w;
  }

  NormSpec norm(const TensorName& n, int64_t width) const {
    NormSpec spec{decoder_.norm, kNone, kNone, norm_eps_};
    if (!decoder_.norm_weights) return spec;
    const float plus = config_.is_gguf() ? 0 : decoder_.norm_plus;
    spec.weight = b_.vector(with_suffix(n, ".weight"), width, {}, plus);
    if (decoder_.norm == NormKind::layer) spec.bias = b_.find_vector(with_suffix(n, ".bias"), width);
    return spec;
  }

  Id temporary(const std::string& role, int64_t width) {
    const auto [it, added] = temporaries_.try_emplace({role, width}, kNone);
    if (added) it->second = b_.buffer(width);
    return it->second;
  }
  Id normed(const std::string& role, Id in, const NormSpec& spec) {
    if (spec.kind == NormKind::none) return in;
    const Id out = temporary(role, config_.hidden);
    b_.emit(op::Norm{in, out, spec, static_cast<int32_t>(config_.hidden)});
    return out;
  }

  // ---- attention ----

  // The order of Q's and K's rows that puts rotated pairs half a rotation apart.
  RowOrder pairs_of(const Attention& a) const {
    const bool adjacent =
        a.rope.pairs == Pairs::adjacent || (a.rope.pairs == Pairs::adjacent_in_gguf && config_.is_gguf());
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
    if (!b_.has(with_suffix(fused, ".weight"))) {
      in.wq = linear(name(i, "attn_q"), nq, config_.hidden, a.qkv_bias, oq);
      in.wk = linear(name(i, "attn_k"), nk, config_.hidden, a.qkv_bias, ok);
      in.wv = linear(name(i, "attn_v"), nv, config_.hidden, a.qkv_bias, ov);
      return;
    }
    oq.whole = ok.whole = ov.whole = nq + nk + nv;
    ok.first = nq, ov.first = nq + nk;
    if (a.fused == FusedQkv::heads && !config_.is_gguf()) {
      const int64_t group = nq / h.n_kv_heads;
      oq.stride = ok.stride = ov.stride = group + h.dk + h.dv;
      oq.run = group, ok.run = h.dk, ov.run = h.dv;
      ok.first = group, ov.first = group + h.dk;
    } else if (a.fused == FusedQkv::blocks && !config_.is_gguf()) {
      oq.run = ok.run = ov.run = nq / 4;
      oq.stride = ok.stride = ov.stride = 3 * (nq / 4);
      ov.first = nq / 4, ok.first = 2 * (nq / 4);
    }
    in.wq = linear(fused, nq, config_.hidden, a.qkv_bias, oq);
    in.wk = linear(fused, nk, config_.hidden, a.qkv_bias, ok);
    in.wv = linear(fused, nv, config_.hidden, a.qkv_bias, ov);
  }

  static QkNorm qk_norm_of(const Attention& a) {
    return a.head_norms ? QkNorm{NormKind::rms, QkNorm::head, false, true} : a.qk_norm;
  }

  // Weights of a norm over heads or the row; one set of them is repeated for each head only where the rows
  // are, so it stays one.
  NormSpec qk_norm(const TensorName& n, const Attention& a, int64_t n_heads) const {
    const QkNorm spec = qk_norm_of(a);
    NormSpec out{spec.kind, kNone, kNone, norm_eps_};
    if (spec.kind == NormKind::none || !spec.weights) return out;
    const int64_t width = spec.span == QkNorm::head ? a.heads.dk : n_heads * a.heads.dk;
    const float plus = config_.is_gguf() ? 0 : decoder_.norm_plus;
    if (spec.span == QkNorm::heads && !b_.has(with_suffix(n, ".weight"))) {
      out.weight = b_.made_vector(of_each_head(n, a.heads.dk, n_heads));
      return out;
    }
    out.weight = b_.vector(with_suffix(n, ".weight"), width, pairs_of(a), plus);
    if (spec.kind == NormKind::layer) out.bias = b_.find_vector(with_suffix(n, ".bias"), width, pairs_of(a));
    return out;
  }

  // Some checkpoints have a tensor for each head.
  std::vector<float> of_each_head(const TensorName& n, int64_t dk, int64_t n_heads) const {
    std::vector<float> all;
    for (int64_t h = 0; h < n_heads; ++h) {
      const std::vector<float> one = b_.values(with_suffix(n, ".norms." + std::to_string(h) + ".weight"), dk);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  // Does op::AttentionInput say it all?
  static bool is_usual(const Attention& a) {
    const QkNorm n = qk_norm_of(a);
    const bool norms = n.kind == NormKind::none || (n.span == QkNorm::head && !n.after_rope);
    return norms && a.clip == 0 && a.temperature.beta == 0;
  }

  void attention(int64_t i, const Layer& layer) {
    if (layer.mla) {
      const NormSpec post =
          layer.post_norms ? norm(name(i, "post_attention_norm"), config_.hidden) : NormSpec{};
      emit_mla(b_, config_, decoder_.names, i, *layer.mla, x_, norm(name(i, "attn_norm"), config_.hidden),
               post, layer.residual_scale);
      return;
    }
    const Attention& a = layer.attention;
    const HeadShape& h = a.heads;
    const int64_t nq = int64_t{h.n_heads} * h.dk, nv = int64_t{h.n_heads} * h.dv;
    op::AttentionInput in{};
    in.x = x_;
    in.q = temporary("q", nq);
    if (layer.pre_norms && !layer.norm_after_add) in.norm = norm(name(i, "attn_norm"), config_.hidden);
    qkv(i, a, in);
    in.q_norm = qk_norm(name(i, "attn_q_norm"), a, h.n_heads);
    in.k_norm = qk_norm(name(i, "attn_k_norm"), a, h.n_kv_heads);
    in.rotation = a.rotary ? b_.rotation(rotation_of(a.rope)) : kNone;
    const auto slot = b_.state(a.window ? kv::PartKind::window : kv::PartKind::pages, h, a.window);
    in.part = slot.part;
    in.layer = slot.layer;
    in.heads = h;
    // A cap and a sink see the logits themselves.
    if (a.softcap == 0 && !a.sinks && qk_norm_of(a).kind == NormKind::none)
      in.k_center = b_.key_center(in.wk.bias, in.rotation, h);
    if (is_usual(a))
      b_.emit(in);
    else
      unusual_input(a, in);
    op::Attend attend{in.q, temporary("attended", nv), slot.part, slot.layer, h, a.scale, a.softcap};
    attend.chunked = a.chunked;
    if (a.sinks) attend.sinks = b_.vector(sinks_name(i), h.n_heads);
    if (a.alibi_max > 0) attend.slopes = b_.made_vector(alibi_slopes(h.n_heads, a.alibi_max, a.alibi_scale));
    const Id gate = attention_gate(i, a, in.norm);
    b_.emit(attend);
    if (a.value_scale != 1.0f) b_.emit(op::Scale{attend.out, attend.out, a.value_scale});
    if (gate != kNone)
      b_.emit(op::Gate{attend.out, gate, a.gate.act, a.gate.span == AttentionGate::heads ? h.dv : 1});
    if (a.inner_norm)
      b_.emit(op::Norm{attend.out, attend.out, norm(name(i, "attn_sub_norm"), nv), static_cast<int32_t>(nv)});
    const LinearSpec w = linear(name(i, "attn_output"), config_.hidden, nv, a.output_bias);
    add_to_stream(attend.out, w, layer,
                  layer.post_norms ? norm(name(i, "post_attention_norm"), config_.hidden) : NormSpec{});
    if (layer.norm_after_add) norm_stream(norm(name(i, "attn_norm"), config_.hidden));
  }

  // Some checkpoints have no ".weight" there.
  TensorName sinks_name(int64_t i) const {
    TensorName n = name(i, "attn_sinks");
    n.gguf += ".weight";
    return n;
  }
  Id attention_gate(int64_t i, const Attention& a, const NormSpec& pre) {
    if (a.gate.span == AttentionGate::none) return kNone;
    const int64_t width = int64_t{a.heads.n_heads} * (a.gate.span == AttentionGate::heads ? 1 : a.heads.dv);
    const Id gate = temporary("attention gate", width);
    b_.emit(op::Linear{normed("normed", x_, pre), gate,
                       linear(name(i, "attn_gate"), width, config_.hidden, Presence::no), false});
    return gate;
  }

  // The same in plain ops, with what the fused one has no room for.
  void unusual_input(const Attention& a, const op::AttentionInput& in) {
    const HeadShape& h = a.heads;
    const Id xn = normed("normed", x_, in.norm);
    const Id k = temporary("k", int64_t{h.n_kv_heads} * h.dk),
             v = temporary("v", int64_t{h.n_kv_heads} * h.dv);
    b_.emit(op::Linear{xn, in.q, in.wq, false});
    b_.emit(op::Linear{xn, k, in.wk, false});
    b_.emit(op::Linear{xn, v, in.wv, false});
    const QkNorm n = qk_norm_of(a);
    const auto norms = [&] {
      if (n.kind == NormKind::none) return;
      const bool row = n.span == QkNorm::row;
      b_.emit(op::Norm{in.q, in.q, in.q_norm, row ? h.n_heads * h.dk : h.dk});
      b_.emit(op::Norm{k, k, in.k_norm, row ? h.n_kv_heads * h.dk : h.dk});
    };
    if (!n.after_rope) norms();
    if (a.clip > 0)
      for (const Id id : {in.q, k, v}) b_.emit(op::Clamp{id, a.clip});
    if (in.rotation != kNone) {
      b_.emit(op::Rope{in.q, in.rotation, h.n_heads, h.dk});
      b_.emit(op::Rope{k, in.rotation, h.n_kv_heads, h.dk});
    }
    if (n.after_rope) norms();
    if (const Temperature& t = a.temperature; t.beta != 0)
      b_.emit(op::ScaleByPosition{in.q, static_cast<float>(t.beta), static_cast<int32_t>(t.span),
                                  static_cast<int32_t>(t.offset)});
    b_.emit(op::StoreKv{k, v, in.part, in.layer, h, in.k_center});
  }

  // x += scale * post(w in)
  void add_to_stream(Id in, const LinearSpec& w, const Layer& layer, const NormSpec& post) {
    if (layer.residual_scale == 1) {
      b_.emit(op::ProjectResidual{in, x_, w, post});
      return;
    }
    const Id y = temporary("block", config_.hidden);
    b_.emit(op::Linear{in, y, w, false});
    if (post.kind != NormKind::none) b_.emit(op::Norm{y, y, post, static_cast<int32_t>(config_.hidden)});
    b_.emit(op::Scale{y, y, layer.residual_scale});
    b_.emit(op::Add{x_, y, x_});
  }

  void norm_stream(const NormSpec& spec) {
    b_.emit(op::Norm{x_, x_, spec, static_cast<int32_t>(config_.hidden)});
  }

  // ---- feed-forward ----

  NormSpec ffn_norm(int64_t i, const Layer& layer) const {
    TensorName pre = name(i, "ffn_norm");
    if (layer.post_norms && pre.hugging_face == name(i, "post_attention_norm").hugging_face)
      pre.hugging_face = name(i, "pre_ffw_norm").hugging_face;
    return norm(pre, config_.hidden);
  }

  // What the feed-forward of parallel blocks reads, taken before attention is added to the stream.
  Id input_of_parallel(int64_t i, const Layer& layer) {
    const NormSpec spec = layer.shared_norm ? norm(name(i, "attn_norm"), config_.hidden) : ffn_norm(i, layer);
    return normed("parallel", x_, spec);
  }

  struct Ffn {
    LinearSpec gate, up, down;
  };
  Ffn ffn_weights(int64_t i, const Mlp& m) const {
    RowOrder gate_rows, up_rows;
    if (m.fused_gate) gate_rows.whole = up_rows.whole = 2 * m.width, up_rows.first = m.width;
    Ffn f;
    if (m.gated)
      f.gate =
          linear(name(i, m.fused_gate ? "ffn_up" : "ffn_gate"), m.width, config_.hidden, m.bias, gate_rows);
    f.up = linear(name(i, "ffn_up"), m.width, config_.hidden, m.bias, up_rows);
    f.down = linear(name(i, "ffn_down"), config_.hidden, m.width, m.bias);
    return f;
  }

  void mlp(int64_t i, const Layer& layer, Id before) {
    const Mlp& m = layer.mlp;
    NormSpec pre, post;
    if (before == kNone && layer.pre_norms && !layer.norm_after_add) pre = ffn_norm(i, layer);
    if (layer.moe) return experts(i, layer, before, pre);
    const Ffn w = ffn_weights(i, m);
    if (layer.post_norms) post = norm(name(i, "post_ffw_norm"), config_.hidden);
    if (m.gated && before == kNone && !m.inner_norm && layer.residual_scale == 1) {
      b_.emit(op::GatedFfn{x_, pre, w.gate, w.up, w.down, m.act, post});
    } else {
      const Id xn = before == kNone ? normed("normed", x_, pre) : before;
      const Id up = temporary("up", m.width);
      b_.emit(op::Linear{xn, up, w.up, false});
      if (m.gated) {
        const Id gate = temporary("gate", m.width);
        b_.emit(op::Linear{xn, gate, w.gate, false});
        b_.emit(op::Glu{gate, up, up, m.act});
      } else if (m.xielu) {
        b_.emit(xielu(i, up));
      } else {
        b_.emit(op::Activate{up, up, m.act});
      }
      if (m.inner_norm)
        b_.emit(op::Norm{up, up, norm(name(i, "ffn_sub_norm"), m.width), static_cast<int32_t>(m.width)});
      add_to_stream(up, w.down, layer, post);
    }
    if (layer.norm_after_add) norm_stream(norm(name(i, "ffn_norm"), config_.hidden));
  }

  void experts(int64_t i, const Layer& layer, Id before, const NormSpec& pre) {
    op::Moe o = claim_moe(b_, config_, decoder_.names, i, *layer.moe);
    o.x = x_;
    o.in = before;
    o.norm = pre;
    if (layer.post_norms) o.post = norm(name(i, "post_ffw_norm"), config_.hidden);
    o.scale *= layer.residual_scale;
    b_.emit(o);
    if (layer.norm_after_add) norm_stream(norm(name(i, "ffn_norm"), config_.hidden));
  }

  // Its parameters are tensors, the alphas before a softplus.
  op::Xielu xielu(int64_t i, Id up) const {
    op::Xielu o{up, up, 0, 0, 0, 0};
    const auto scalar = [&](std::string_view which) {
      if (const auto all = config_.file().find_floats("xielu" + std::string(which));
          all && static_cast<int64_t>(all->size()) == config_.n_layers)
        return static_cast<float>((*all)[static_cast<size_t>(i)]);  // GGUF's metadata
      return b_.values(with_suffix(name(i, "ffn_act"), which), 1).front();
    };
    const auto softplus = [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); };
    o.beta = scalar(".beta");
    o.eps = scalar(".eps");
    o.alpha_p = static_cast<float>(softplus(scalar(".alpha_p")));
    o.alpha_n = static_cast<float>(o.beta + softplus(scalar(".alpha_n")));
    return o;
  }

  // ---- both ends ----

  Id embedding() {
    const int64_t width = decoder_.embedding_width ? decoder_.embedding_width : config_.hidden;
    const Id table = b_.matrix(with_suffix(name("token_embd"), ".weight"), config_.n_vocab, width);
    const Id first = width == config_.hidden ? x_ : temporary("embedding", width);
    b_.emit(op::Embed{first, table, decoder_.embedding_scale});
    if (first != x_)
      b_.emit(op::Linear{first, x_, linear(name("embd_in"), config_.hidden, width, Presence::no), false});
    if (decoder_.positions != Positions::none) {
      const TensorName n = with_suffix(name("position_embd"), ".weight");
      const bool learned = decoder_.positions == Positions::learned;
      const int64_t rows = learned ? b_.rows_of(n) : config_.n_context + decoder_.position_offset;
      const Id positions =
          b_.made_vector(learned ? b_.flat_values(n, rows * config_.hidden) : sinusoids(rows));
      b_.emit(op::AddPositions{x_, positions, decoder_.position_offset});
      b_.limit_positions(rows - decoder_.position_offset);
    }
    if (decoder_.embedding_norm) norm_stream(norm(name("token_embd_norm"), config_.hidden));
    return table;
  }

  // sin of position / 10000^(i / (half - 1)), then cos: the table of fairseq's models.
  std::vector<float> sinusoids(int64_t rows) const {
    const int64_t half = config_.hidden / 2;
    std::vector<float> out(static_cast<size_t>(rows * config_.hidden));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(r) * std::exp(-std::log(10000.0) * static_cast<double>(i) /
                                                               static_cast<double>(half - 1));
        out[static_cast<size_t>(r * config_.hidden + i)] = static_cast<float>(std::sin(angle));
        out[static_cast<size_t>(r * config_.hidden + half + i)] = static_cast<float>(std::cos(angle));
      }
    return out;
  }

  void head(Id table) {
    b_.mark_stream(x_);
    op::Head head{};
    head.x = x_;
    if (decoder_.final_norm) head.norm = norm(name("output_norm"), config_.hidden);
    int64_t width = config_.hidden;
    if (decoder_.embedding_width && decoder_.embedding_width != config_.hidden) {
      if (decoder_.final_norm) norm_stream(head.norm), head.norm = {};
      width = decoder_.embedding_width;
      head.x = temporary("embedding", width);
      b_.emit(op::Linear{x_, head.x, linear(name("embd_out"), width, config_.hidden, Presence::no), false});
    }
    head.w.weight = output(table, width);
    const TensorName bias = with_suffix(name("output"), ".bias");
    if (decoder_.output_bias == Presence::yes) head.w.bias = b_.vector(bias, config_.n_vocab);
    if (decoder_.output_bias == Presence::optional) head.w.bias = b_.find_vector(bias, config_.n_vocab);
    head.scale = decoder_.logit_scale;
    head.softcap = decoder_.logit_softcap;
    b_.emit(head);
  }

  // A tied head may still have its own copy in the file, which nobody reads.
  Id output(Id table, int64_t width) const {
    const TensorName own = with_suffix(name("output"), ".weight");
    const std::optional<bool> tied = config_.find_bool({"", "tie_word_embeddings"});
    if (tied.value_or(!b_.has(own))) return b_.leave_out(own), table;
    return config_.is_gguf() && !b_.has(own) ? table : b_.matrix(own, config_.n_vocab, width);
  }

  GraphBuilder& b_;
  const Config& config_;
  const Decoder& decoder_;
  float norm_eps_;
  Id x_;
  std::map<std::pair<std::string, int64_t>, Id> temporaries_;
};

}  // namespace

backends::Plan build_decoder(GraphBuilder& b, const Config& config, const Decoder& decoder) {
  DecoderBuild(b, config, decoder).build();
  return b.finish(config.n_vocab, longest_context(config));
}

}  // namespace ingle::models
