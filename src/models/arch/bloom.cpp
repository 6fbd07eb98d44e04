// BLOOM: ALiBi, a norm on the embedding, biases, q, k and v fused head by head. arXiv:2211.05100.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{plain_attention(config), usual_mlp(config)};
  constexpr Key kAfter{"", "apply_residual_connection_post_layernorm"};
  if (config.find_bool(kAfter).value_or(false))
    config.refuse(kAfter, "residuals after the norm are not understood");
  layer.attention.alibi_max = 8;
  layer.attention.fused = FusedQkv::heads;
  layer.attention.qkv_bias = layer.attention.output_bias = layer.mlp.bias = Presence::yes;
  layer.mlp.gated = false;
  layer.mlp.act = Activation::gelu_tanh;
  Decoder decoder;
  decoder.names = Names("transformer.h.", {{"token_embd", "transformer.word_embeddings"},
                                           {"token_embd_norm", "transformer.word_embeddings_layernorm"},
                                           {"output_norm", "transformer.ln_f"},
                                           {"attn_qkv", "self_attention.query_key_value"},
                                           {"attn_output", "self_attention.dense"},
                                           {"ffn_up", "mlp.dense_h_to_4h"},
                                           {"ffn_down", "mlp.dense_4h_to_h"}});
  decoder.norm = NormKind::layer;
  decoder.embedding_norm = true;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kBloom{"bloom", "bloom", "BLOOM", build};

}  // namespace ingle::models
