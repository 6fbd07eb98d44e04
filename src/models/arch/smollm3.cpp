// SmolLM3: Llama's shape without RoPE on every fourth layer. Yang et al., "RNoPE", arXiv:2501.18795.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.rope.pairs = Pairs::adjacent_in_gguf;
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.mlp.bias = presence_of(config, {"", "mlp_bias"}, false);
  if (!config.find_bool({"", "use_sliding_window"}).value_or(false)) layer.attention.window = 0;
  return build_decoder(b, config, {.layer = [&](int64_t i) {
                         Layer l = layer;
                         l.attention.rotary = rotates(config, i);
                         if (!config.is_gguf() && !config.slides(i, l.attention.window > 0))
                           l.attention.window = 0;
                         return l;
                       }});
}

}  // namespace

extern const Architecture kSmolLm3{"smollm3", "smollm3", "SmolLM3", build};

}  // namespace ingle::models
