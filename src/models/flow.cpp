#include "models/flow.h"

namespace ingle::models {

using graph::RowOrder;
using graph::TensorName;

float norm_eps(const Config& config) {
  return static_cast<float>(
      config.need_positive({"attention.layer_norm_rms_epsilon|attention.layer_norm_epsilon",
                            "rms_norm_eps|norm_eps|block_norm_eps|layer_norm_epsilon"}));
}

Id Flow::temp(const std::string& role, int64_t width) {
  const auto [it, added] = temps_.try_emplace({role, width}, kNone);
  if (added) it->second = b.buffer(width);
  return it->second;
}

LinearSpec Flow::weight(const TensorName& name, int64_t out, int64_t in, Presence bias,
                        const RowOrder& order) {
  LinearSpec w;
  w.weight = b.matrix(with_suffix(name, ".weight"), out, in, order);
  if (bias == Presence::yes) w.bias = b.vector(with_suffix(name, ".bias"), out, order);
  if (bias == Presence::optional) w.bias = b.find_vector(with_suffix(name, ".bias"), out, order);
  return w;
}

NormSpec Flow::rms(const TensorName& name, int64_t width, float plus) {
  TensorName full = with_suffix(name, ".weight");
  if (config.is_gguf() && !b.has(full) && b.has(name)) full = name;  // one converter leaves the suffix out
  return {NormKind::rms, b.vector(full, width, {}, config.is_gguf() ? 0 : plus), kNone, eps_};
}

void Flow::norm(Id in, Id out, const NormSpec& spec, int64_t group) {
  b.emit(op::Norm{in, out, spec, static_cast<int32_t>(group)});
}

Id Flow::normed(Id in, const NormSpec& spec, int64_t width) {
  const Id out = temp("normed", width);
  norm(in, out, spec, width);
  return out;
}

Id Flow::linear(Id in, const LinearSpec& w, const std::string& role, int64_t width) {
  const Id out = temp(role, width);
  b.emit(op::Linear{in, out, w, false});
  return out;
}

void Flow::project(Id in, Id x, const LinearSpec& w, const NormSpec& post, float residual) {
  if (residual == 1.0f) {
    b.emit(op::ProjectResidual{in, x, w, post});
    return;
  }
  const Id y = linear(in, w, "projected", config.hidden);
  if (post.kind != NormKind::none) norm(y, y, post, config.hidden);
  b.emit(op::Scale{y, y, residual});
  b.emit(op::Add{x, y, x});
}

void Flow::mlp(int64_t layer, Id x, int64_t width, Activation act, const NormSpec& norm, const NormSpec& post,
               float residual) {
  const LinearSpec gate = weight(name(layer, "ffn_gate"), width, config.hidden),
                   up = weight(name(layer, "ffn_up"), width, config.hidden),
                   down = weight(name(layer, "ffn_down"), config.hidden, width);
  if (residual == 1.0f) {
    op::GatedFfn ffn{};
    ffn.x = x, ffn.norm = norm, ffn.gate = gate, ffn.up = up, ffn.down = down, ffn.act = act, ffn.post = post;
    b.emit(ffn);
    return;
  }
  const Id in = normed(x, norm, config.hidden);
  const Id g = linear(in, gate, "ffn_gate", width), u = linear(in, up, "ffn_up", width);
  multiply(u, g, act);
  project(u, x, down, post, residual);
}

void Flow::fused_mlp(int64_t layer, Id x, std::string_view gate_up, std::string_view down, int64_t width,
                     const NormSpec& norm, float residual) {
  const Id in = normed(x, norm, config.hidden);
  const Id g =
      linear(in, weight(name(layer, gate_up), width, config.hidden, Presence::no, {.whole = 2 * width}),
             "ffn_gate", width);
  const Id u = linear(
      in,
      weight(name(layer, gate_up), width, config.hidden, Presence::no, {.first = width, .whole = 2 * width}),
      "ffn_up", width);
  multiply(u, g, Activation::silu);
  project(u, x, weight(name(layer, down), config.hidden, width), {}, residual);
}

void Flow::moe(int64_t layer, Id x, const Moe& spec, const NormSpec& norm, const NormSpec& post) {
  op::Moe o = claim_moe(b, config, names, layer, spec);
  o.x = x, o.norm = norm, o.post = post;
  b.emit(o);
}

void Flow::copy(Id from, int64_t first, Id to, int64_t width) {
  b.emit(op::Copy{from, to, static_cast<int32_t>(first), 0, 0, 0, static_cast<int32_t>(width), 1});
}

Id Flow::embed(float scale) {
  table_ = b.matrix(with_suffix(names.of_model("token_embd"), ".weight"), config.n_vocab, config.hidden);
  const Id x = b.buffer(config.hidden);
  b.emit(op::Embed{x, table_, scale});
  return x;
}

backends::Plan Flow::finish(Id x, const NormSpec& norm, float scale, float softcap) {
  b.mark_stream(x);
  for (int64_t i = 0; i < config.n_predictors; ++i) b.leave_out_under(names.layer(config.n_layers + i));
  // A tied head may still have its own copy in the file, which nobody reads.
  const TensorName own = with_suffix(names.of_model("output"), ".weight");
  op::Head head{};
  head.x = x;
  head.norm = norm;
  head.w.weight = table_;
  if (config.find_bool({"", "tie_word_embeddings"}).value_or(!b.has(own)))
    b.leave_out(own);
  else
    head.w.weight = b.matrix(own, config.n_vocab, config.hidden);
  head.scale = scale;
  head.softcap = softcap;
  b.emit(head);
  return b.finish(config.n_vocab, config.n_context);
}

}  // namespace ingle::models
