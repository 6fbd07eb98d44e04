// Granite 3: Llama's shape with four multipliers; in another branch a window and a RoPE base for each layer.
// IBM, "Granite 3.0 Language Models", 2024.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.rope.pairs = Pairs::adjacent_in_gguf;
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.mlp.bias = presence_of(config, {"", "mlp_bias"}, false);
  const auto multiplier = [&](Key key) { return static_cast<float>(config.need_positive(key)); };
  layer.attention.scale = multiplier({"attention.scale", "attention_multiplier"});
  layer.residual_scale = multiplier({"residual_scale", "residual_multiplier"});
  Decoder decoder;
  decoder.embedding_scale = multiplier({"embedding_scale", "embedding_multiplier"});
  decoder.logit_scale = 1 / multiplier({"logit_scale", "logits_scaling"});
  // The branch with windows: a base for each layer, sinks in the layers.
  constexpr Key kThetas{"", "layer_rope_theta"};
  const auto thetas = config.find_floats(kThetas);
  if (thetas && thetas->size() != static_cast<size_t>(config.n_layers))
    config.refuse(kThetas, "expected one number for each layer");
  layer.attention.sinks = b.has({"blk.0.attn_sinks.weight", "model.layers.0.self_attn.sinks"});
  decoder.layer = [&](int64_t i) {
    Layer l = layer;
    if (!config.slides(i, config.window.has_value())) l.attention.window = 0;
    if (thetas) l.attention.rope.theta = (*thetas)[static_cast<size_t>(i)];
    return l;
  };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGranite{"granite granite_swa", "granite granite_swa", "Granite 3, dense", build};

}  // namespace ingle::models
