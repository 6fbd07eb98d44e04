#include "models/gemma_parts.h"

#include <cmath>

#include "core/error.h"
#include "models/mixers.h"

namespace ingle::models {

void SharedAttention::emit(int64_t layer, const Layer& spec, Id normed, Id x, const NormSpec& post) {
  const HeadShape& h = spec.heads;
  const int64_t hidden = f_.config.hidden, q_width = int64_t{h.n_heads} * h.dk,
                k_width = int64_t{h.n_kv_heads} * h.dk, out_width = int64_t{h.n_heads} * h.dv;
  const auto name = [&](std::string_view role) { return f_.name(layer, role); };
  const auto head_norm_and_rope = [&](Id v, std::string_view norm, int32_t n_heads) {
    f_.norm(v, v, f_.rms(name(norm), h.dk), h.dk);
    f_.b.emit(op::Rope{v, spec.rotation, n_heads, h.dk});
  };
  const Id q = f_.linear(normed, f_.weight(name("attn_q"), q_width, hidden), "attn_q", q_width);
  head_norm_and_rope(q, "attn_q_norm", h.n_heads);
  if (layer < first_shared_) {
    const LinearSpec wk = f_.weight(name("attn_k"), k_width, hidden);
    const LinearSpec wv = spec.v_is_k ? wk : f_.weight(name("attn_v"), int64_t{h.n_kv_heads} * h.dv, hidden);
    const Id k = f_.linear(normed, wk, "attn_k", k_width),
             v = f_.linear(normed, wv, "attn_v", int64_t{h.n_kv_heads} * h.dv);
    head_norm_and_rope(k, "attn_k_norm", h.n_kv_heads);
    f_.norm(v, v, f_.bare_rms(), h.dv);
    const auto slot = f_.b.state(spec.window ? kv::PartKind::window : kv::PartKind::pages, h, spec.window);
    last_[spec.window != 0] = slot;
    f_.b.emit(op::StoreKv{k, v, slot.part, slot.layer, h});
  }
  const auto slot = last_.find(spec.window != 0);
  if (slot == last_.end())
    f_.config.refuse(kSharedLayers, format("layer {} has no layer before it to share with", layer));
  const Id out = f_.temp("attended", out_width);
  op::Attend attend{};
  attend.q = q, attend.out = out, attend.part = slot->second.part, attend.layer = slot->second.layer,
  attend.heads = h;
  attend.scale = 1;
  f_.b.emit(attend);
  f_.project(out, x, f_.weight(name("attn_output"), hidden, out_width), post);
}

LayerEmbeddings::LayerEmbeddings(Flow& flow, Id embedded)
    : f_(flow),
      n_(flow.config.need_int(kLayerWidth, 1, 1 << 16)),
      all_(flow.temp("layer_embeddings", n_ * flow.config.n_layers)) {
  const int64_t n = n_, width = n * f_.config.n_layers, hidden = f_.config.hidden;
  const auto name = [&](std::string_view role) { return f_.names.of_model(role); };
  const graph::TensorName table = with_suffix(name("per_layer_token_embd"), ".weight");
  const int64_t n_rows = f_.b.rows_of(table);
  // Tokens past the table take its first row.
  std::vector<int64_t> rows(static_cast<size_t>(f_.config.n_vocab));
  for (int64_t i = 0; i < f_.config.n_vocab; ++i) rows[static_cast<size_t>(i)] = i < n_rows ? i : 0;
  const Id weight =
      f_.b.part(table, {n_rows, width}, f_.config.n_vocab, width, {.source_rows = std::move(rows)});
  f_.b.emit(op::Embed{all_, weight, std::sqrt(static_cast<float>(n))});
  const Id projected =
      f_.linear(embedded, f_.weight(name("per_layer_model_proj"), width, hidden), "layer_projected", width);
  f_.b.emit(op::Scale{projected, projected, 1 / std::sqrt(static_cast<float>(hidden))});
  f_.norm(projected, projected, f_.rms(name("per_layer_proj_norm"), n), n);
  f_.b.emit(op::Add{all_, projected, all_});
  f_.b.emit(op::Scale{all_, all_, std::sqrt(0.5f)});
}

void LayerEmbeddings::emit(int64_t layer, Id x, Id out) {
  const int64_t hidden = f_.config.hidden;
  const Id own = f_.temp("layer_embedding", n_);
  f_.copy(all_, layer * n_, own, n_);
  const Id gate = f_.linear(x, f_.weight(f_.name(layer, "inp_gate"), n_, hidden), "layer_gate", n_);
  f_.multiply(own, gate, Activation::gelu_tanh);
  f_.b.emit(op::Linear{own, out, f_.weight(f_.name(layer, "proj"), hidden, n_), false});
  f_.norm(out, out, f_.rms(f_.name(layer, "post_norm"), hidden), hidden);
}

std::vector<bool> sliding_layers(const Config& config) {
  if (!config.is_gguf()) layer_kinds(config, {"", "layer_types"}, {"sliding_attention", "full_attention"});
  std::vector<bool> out;
  for (int64_t i = 0; i < config.n_layers; ++i) out.push_back(config.slides(i, (i + 1) % 5 != 0));
  return out;
}

std::vector<float> flat_values(Flow& flow, graph::TensorName name, int64_t n) {
  name.gguf += ".weight";
  return flow.b.flat_values(name, n);
}

Names gemma_names(std::vector<TensorRole> more) {
  std::vector<TensorRole> names = {{"ffn_norm", "pre_feedforward_layernorm"},
                                   {"per_layer_token_embd", "model.embed_tokens_per_layer"},
                                   {"per_layer_model_proj", "model.per_layer_model_projection"},
                                   {"per_layer_proj_norm", "model.per_layer_projection_norm"},
                                   {"inp_gate", "per_layer_input_gate"},
                                   {"proj", "per_layer_projection"},
                                   {"post_norm", "post_per_layer_input_norm"}};
  names.insert(names.end(), more.begin(), more.end());
  return Names("model.layers.", std::move(names));
}

}  // namespace ingle::models
