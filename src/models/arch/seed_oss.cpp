// Seed-OSS (ByteDance): Llama's shape with biases on q, k and v. In GGUF the norm before the feed-forward is
// called after the attention that it follows.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = presence_of(config, {"", "attention_bias"}, true);
  layer.attention.output_bias = presence_of(config, {"", "attention_out_bias"}, false);
  layer.mlp.bias = presence_of(config, {"", "mlp_bias"}, false);
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"ffn_norm", "post_attention_layernorm", "post_attention_norm"}});
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kSeedOss{"seed_oss", "seed_oss", "Seed-OSS", build};

}  // namespace ingle::models
