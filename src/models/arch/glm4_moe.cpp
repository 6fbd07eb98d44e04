// GLM 4.5 and 4.6: biases on q, k and v, norms over heads in the larger ones, DeepSeek-V3's experts.
// arXiv:2508.06471.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer dense{usual_attention(config), usual_mlp(config)};
  dense.attention.qkv_bias = presence_of(config, {"", "attention_bias"}, false);
  dense.attention.head_norms = config.is_gguf() ? b.has({"blk.0.attn_q_norm.weight", ""})
                                                : config.find_bool({"", "use_qk_norm"}).value_or(false);
  Layer sparse = dense;
  sparse.moe = sigmoid_moe(config);
  const Names names("model.layers.", {{"ffn_norm", "post_attention_layernorm", "post_attention_norm"}});
  return build_decoder(
      b, config, {.names = names, .layer = [&](int64_t i) { return is_dense(config, i) ? dense : sparse; }});
}

}  // namespace

extern const Architecture kGlm4Moe{"glm4moe", "glm4_moe", "GLM 4.5, 4.6", build};

}  // namespace ingle::models
