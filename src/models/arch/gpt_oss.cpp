// gpt-oss: alternating windows, a sink in each head, biases everywhere, bounded SwiGLU, a softmax over the
// chosen experts. arXiv:2508.10925.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer full{usual_attention(config), usual_mlp(config)};
  full.attention.qkv_bias = full.attention.output_bias = Presence::yes;
  full.attention.rope = read_rope(config, {}, nullptr, 0, false);
  full.attention.sinks = true;
  Moe moe = usual_moe(config, false);
  moe.router.score = RouterScore::softmax_of_chosen;
  moe.router_bias = moe.expert_bias = true;
  moe.layout = ExpertLayout::interleaved;
  moe.bound.limit = static_cast<float>(config.positive_or({"swiglu_clamp_exp", "swiglu_limit"}, 7));
  moe.bound.alpha = static_cast<float>(config.positive_or({"", "swiglu_alpha"}, 1.702));
  moe.bound.up_offset = 1;
  full.moe = moe;
  Layer sliding = full;
  full.attention.window = 0;
  const Names names("model.layers.", {{"ffn_norm", "post_attention_layernorm", "post_attention_norm"},
                                      {"ffn_gate_inp", "mlp.router"}});
  return build_decoder(b, config, {.names = names, .layer = [&](int64_t i) {
                                     return config.slides(i, i % 2 == 0) ? sliding : full;
                                   }});
}

}  // namespace

extern const Architecture kGptOss{"gpt-oss", "gpt_oss", "gpt-oss", build};

}  // namespace ingle::models
