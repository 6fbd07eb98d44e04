// GPT-NeoX, Pythia, Dolly: parallel blocks with a norm each, partial RoPE, q, k and v fused head by head.
// Black et al., arXiv:2204.06745.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config, {}, 10000), usual_mlp(config)};
  layer.attention.heads.n_kv_heads = layer.attention.heads.n_heads;
  layer.parallel = config.find_bool({"use_parallel_residual", "use_parallel_residual"}).value_or(true);
  layer.attention.fused = FusedQkv::heads;
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, true);
  layer.mlp.bias = Presence::yes;
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::gelu_erf);
  Decoder decoder;
  decoder.names = Names("gpt_neox.layers.", {{"token_embd", "gpt_neox.embed_in"},
                                             {"output_norm", "gpt_neox.final_layer_norm"},
                                             {"output", "embed_out"},
                                             {"attn_qkv", "attention.query_key_value"},
                                             {"attn_output", "attention.dense"},
                                             {"ffn_up", "mlp.dense_h_to_4h"},
                                             {"ffn_down", "mlp.dense_4h_to_h"}});
  decoder.norm = NormKind::layer;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGptNeoX{"gptneox", "gpt_neox", "GPT-NeoX, Pythia", build};

}  // namespace ingle::models
