// OLMoE: norms over the whole row of q and k, weights of the chosen experts as they are. arXiv:2409.02060.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qk_norm = {NormKind::rms, QkNorm::row};
  layer.attention.clip = config.positive_or({"attention.clamp_kqv", "clip_qkv"}, 0);
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.moe = usual_moe(config, false);
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kOlmoe{"olmoe", "olmoe", "OLMoE", build};

}  // namespace ingle::models
