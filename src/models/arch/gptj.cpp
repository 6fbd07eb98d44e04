// GPT-J and CodeGen: parallel blocks behind one LayerNorm, partial RoPE with pairs side by side, a bias on
// the head. Wang & Komatsuzaki, "GPT-J-6B", 2021; Nijkamp et al., "CodeGen", arXiv:2203.13474.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{plain_attention(config), usual_mlp(config)};
  layer.parallel = layer.shared_norm = true;
  layer.attention.rotary = true;
  layer.attention.rope.theta = 10000;  // fixed: config.json has no key
  layer.attention.rope.n_rotated = config.n_rotated;
  layer.attention.rope.pairs = Pairs::adjacent;
  layer.attention.fused = FusedQkv::blocks;
  layer.mlp.bias = Presence::yes;
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::gelu_tanh);
  Decoder decoder;
  decoder.names = Names("transformer.h.", {{"token_embd", "transformer.wte"},
                                           {"output_norm", "transformer.ln_f"},
                                           {"attn_norm", "ln_1"},
                                           {"attn_qkv", "attn.qkv_proj"},
                                           {"attn_q", "attn.q_proj"},
                                           {"attn_k", "attn.k_proj"},
                                           {"attn_v", "attn.v_proj"},
                                           {"attn_output", "attn.out_proj"},
                                           {"ffn_up", "mlp.fc_in"},
                                           {"ffn_down", "mlp.fc_out"}});
  decoder.norm = NormKind::layer;
  decoder.output_bias = Presence::yes;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGptJ{"", "gptj codegen", "GPT-J, CodeGen", build};

}  // namespace ingle::models
