// GLM-4: partial RoPE with pairs side by side, biases on q, k and v, gate and up fused; the models of 0414
// have norms after the blocks too. "ChatGLM", arXiv:2406.12793.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build_with(graph::GraphBuilder& b, const Config& config, bool post_norms) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.post_norms = post_norms;
  layer.attention.rope.pairs = Pairs::adjacent;
  layer.attention.qkv_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.mlp.fused_gate = true;
  std::vector<TensorRole> roles = {{"ffn_up", "mlp.gate_up_proj"}};
  if (post_norms) {
    roles.push_back({"post_attention_norm", "post_self_attn_layernorm"});
    roles.push_back({"post_ffw_norm", "post_mlp_layernorm"});
  }
  Decoder decoder;
  decoder.names = Names("model.layers.", roles);
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) { return build_with(b, config, false); }
backends::Plan build_0414(graph::GraphBuilder& b, const Config& config) {
  return build_with(b, config, true);
}

}  // namespace

extern const Architecture kGlm{"chatglm", "glm", "GLM-4", build};
extern const Architecture kGlm4{"glm4", "glm4", "GLM-4 0414", build_0414};

}  // namespace ingle::models
