// GPT-BigCode (SantaCoder, StarCoder 1): GPT-2 with one head of keys and values. Li et al., arXiv:2305.06161.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  const bool one = config.is_gguf() || config.find_bool({"", "multi_query"}).value_or(true);
  Layer layer{plain_attention(config), usual_mlp(config)};
  if (!config.is_gguf()) layer.attention.heads.n_kv_heads = one ? 1 : static_cast<int32_t>(config.n_heads);
  layer.attention.fused = one ? FusedQkv::rows : FusedQkv::heads;
  layer.attention.qkv_bias = layer.attention.output_bias = layer.mlp.bias = Presence::yes;
  if (!config.find_bool({"", "scale_attn_weights"}).value_or(true)) layer.attention.scale = 1;
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::gelu_tanh);
  Decoder decoder;
  decoder.names = Names("transformer.h.", {{"token_embd", "transformer.wte"},
                                           {"position_embd", "transformer.wpe"},
                                           {"output_norm", "transformer.ln_f"},
                                           {"attn_norm", "ln_1"},
                                           {"attn_qkv", "attn.c_attn"},
                                           {"attn_output", "attn.c_proj"},
                                           {"ffn_norm", "ln_2"},
                                           {"ffn_up", "mlp.c_fc"},
                                           {"ffn_down", "mlp.c_proj"}});
  decoder.norm = NormKind::layer;
  decoder.positions = Positions::learned;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGptBigCode{"starcoder", "gpt_bigcode", "StarCoder 1, SantaCoder", build};

}  // namespace ingle::models
