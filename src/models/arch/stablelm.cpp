// StableLM 2 and 3B: LayerNorm, partial RoPE; the 12B model has parallel blocks and a norm for each head.
// Bellagente et al., arXiv:2402.17834.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config, {}, 10000), usual_mlp(config)};
  const graph::TensorName second{"blk.0.ffn_norm.weight", "model.layers.0.post_attention_layernorm.weight"};
  const graph::TensorName norms{"blk.0.attn_q_norm.weight",
                                "model.layers.0.self_attn.q_layernorm.norms.0.weight"};
  layer.parallel = layer.shared_norm =
      config.find_bool({"use_parallel_residual", "use_parallel_residual"}).value_or(!b.has(second));
  layer.attention.qkv_bias = presence_of(config, {"", "use_qkv_bias"}, false);
  if (config.find_bool({"", "qk_layernorm"}).value_or(b.has(norms)))
    layer.attention.qk_norm = {NormKind::layer, QkNorm::heads, false, true};
  Decoder decoder;
  decoder.names = Names("model.layers.",
                        {{"attn_q_norm", "self_attn.q_layernorm"}, {"attn_k_norm", "self_attn.k_layernorm"}});
  decoder.norm = NormKind::layer;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kStableLm{"stablelm", "stablelm", "StableLM", build};

}  // namespace ingle::models
