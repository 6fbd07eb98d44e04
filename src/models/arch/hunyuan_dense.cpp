// Hunyuan 1, dense: norms over each head of q and k after RoPE. Tencent, "Hunyuan-A13B", 2025.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.attention.qk_norm = {NormKind::rms, QkNorm::head, true, true};
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"attn_q_norm", "self_attn.query_layernorm"},
                                          {"attn_k_norm", "self_attn.key_layernorm"}});
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kHunyuanDense{"hunyuan-dense", "hunyuan_v1_dense", "Hunyuan 1, dense", build};

}  // namespace ingle::models
