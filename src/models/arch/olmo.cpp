// OLMo 1: LayerNorm without weights, bounded q, k and v. Groeneveld et al., arXiv:2402.00838.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.rope.pairs = Pairs::adjacent_in_gguf;
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.attention.clip = static_cast<float>(config.positive_or({"attention.clamp_kqv", "clip_qkv"}, 0));
  Decoder decoder;
  decoder.norm = NormKind::layer;
  decoder.norm_weights = false;
  decoder.norm_eps = 1e-5f;  // fixed in the model's code
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kOlmo{"olmo", "olmo", "OLMo 1", build};

}  // namespace ingle::models
