// Llama 1, 2, 3 and what shares their shape: SmolLM, Vicuna, Yi, …; in GGUF files Mistral too.
// Touvron et al., "LLaMA", arXiv:2302.13971; "The Llama 3 Herd of Models", arXiv:2407.21783.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.mlp.bias = presence_of(config, {"", "mlp_bias"}, false);
  layer.attention.rope.pairs = Pairs::adjacent_in_gguf;
  read_gguf_factors(b, config, layer.attention.rope);
  // Mixtral's files.
  if (config.is_gguf() && config.find_int("expert_count").value_or(0) > 0)
    layer.moe = usual_moe(config, true);
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kLlama{"llama", "llama", "Llama 1 to 3, SmolLM and their kin", build};

}  // namespace ingle::models
