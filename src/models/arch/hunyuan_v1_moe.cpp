// Hunyuan A13B: norms over heads after RoPE, a shared feed-forward beside the experts.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qk_norm = {NormKind::rms, QkNorm::head, true};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.moe = usual_moe(config, true);
  const int64_t shared = config.find_int({"expert_shared_count", "num_shared_expert"}).value_or(1);
  if (!config.has({"expert_shared_feed_forward_length", ""}))
    layer.moe->shared_width = shared * layer.moe->width;
  const Names names("model.layers.", {{"attn_q_norm", "self_attn.query_layernorm"},
                                      {"attn_k_norm", "self_attn.key_layernorm"},
                                      {"ffn_gate_inp", "mlp.gate.wg"},
                                      {"ffn_gate_shexp", "mlp.shared_mlp.gate_proj"},
                                      {"ffn_up_shexp", "mlp.shared_mlp.up_proj"},
                                      {"ffn_down_shexp", "mlp.shared_mlp.down_proj"}});
  return build_decoder(b, config, {.names = names, .layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kHunyuanV1Moe{"hunyuan-moe", "hunyuan_v1_moe", "Hunyuan A13B", build};

}  // namespace ingle::models
