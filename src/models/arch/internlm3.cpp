// InternLM 3: Llama's shape with optional biases (in GGUF files it is Llama).
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = presence_of(config, {"", "attention_bias|qkv_bias"}, false);
  layer.attention.output_bias = presence_of(config, {"", "attention_bias|bias"}, false);
  layer.mlp.bias = presence_of(config, {"", "mlp_bias|bias"}, false);
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kInternLm3{"", "internlm3", "InternLM 3", build};

}  // namespace ingle::models
