// FlexOlmo: OLMo 2's blocks (norms on their outputs alone, norms over the rows of q and k) with experts.
// arXiv:2507.07024.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qk_norm = {NormKind::rms, QkNorm::row};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.pre_norms = false;
  layer.post_norms = true;
  layer.moe = usual_moe(config, false);
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kFlexOlmo{"", "flex_olmo", "FlexOlmo", build};

}  // namespace ingle::models
