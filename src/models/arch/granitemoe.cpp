// Granite 3 MoE, with and without a shared expert: Granite's four multipliers, and a softmax over the chosen
// experts.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.attention.scale = config.positive_or({"attention.scale", "attention_multiplier"}, 1);
  layer.attention.rope.pairs = Pairs::adjacent_in_gguf;
  layer.residual_scale = config.positive_or({"residual_scale", "residual_multiplier"}, 1);
  Moe moe = usual_moe(config, false);
  moe.router.score = RouterScore::softmax_of_chosen;
  moe.shared_width =
      config.find_int({"expert_shared_feed_forward_length", "shared_intermediate_size"}).value_or(0);
  moe.shared_fused = true;
  layer.moe = moe;
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"ffn_gate_inp", "block_sparse_moe.router.layer"},
                                          {"ffn_gate_up_exps", "block_sparse_moe.input_linear"},
                                          {"ffn_down_stack", "block_sparse_moe.output_linear"},
                                          {"ffn_up_shexp", "shared_mlp.input_linear"},
                                          {"ffn_down_shexp", "shared_mlp.output_linear"}});
  decoder.embedding_scale = config.positive_or({"embedding_scale", "embedding_multiplier"}, 1);
  decoder.logit_scale = 1 / config.positive_or({"logit_scale", "logits_scaling"}, 1);
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGraniteMoe{"granitemoe", "granitemoe granitemoeshared", "Granite 3, with experts",
                                      build};

}  // namespace ingle::models
