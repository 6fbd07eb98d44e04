// Phi-3.5-MoE: layer norms with biases, and two experts chosen by sparsemixer. Abdin et al.,
// arXiv:2404.14219.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.moe = usual_moe(config, false);
  layer.moe->router.score = RouterScore::sparsemixer;
  layer.moe->router.n_used = 2;  // whatever the file says: the method knows a first and a second
  layer.moe->router.jitter = config.positive_or({"", "router_jitter_noise"}, 0.01);
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"ffn_gate_inp", "block_sparse_moe.gate"},
                                          {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1"},
                                          {"ffn_up_exps", "block_sparse_moe.experts.{}.w3"},
                                          {"ffn_down_exps", "block_sparse_moe.experts.{}.w2"}});
  decoder.norm = NormKind::layer;
  decoder.norm_eps = static_cast<float>(config.need_positive(
      {"attention.layer_norm_epsilon|attention.layer_norm_rms_epsilon", "rms_norm_eps"}));
  decoder.output_bias = presence_of(config, {"", "lm_head_bias"}, false);
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kPhiMoe{"phimoe", "phimoe", "Phi-3.5-MoE", build};

}  // namespace ingle::models
