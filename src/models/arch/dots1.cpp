// dots.llm1: norms over heads, DeepSeek-V3's experts. arXiv:2506.05767.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer dense{usual_attention(config), usual_mlp(config)};
  dense.attention.head_norms = true;
  dense.attention.qkv_bias = dense.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  Layer sparse = dense;
  sparse.moe = sigmoid_moe(config);
  const int64_t window = dense.attention.window;
  return build_decoder(b, config, {.layer = [&](int64_t i) {
                         Layer layer = is_dense(config, i) ? dense : sparse;
                         layer.attention.window = config.slides(i, false) ? window : 0;
                         return layer;
                       }});
}

}  // namespace

extern const Architecture kDots1{"dots1", "dots1", "dots.llm1", build};

}  // namespace ingle::models
