// Gemma 1: Llama's shape with GELU gates, scaled embeddings, and norm weights that lack 1 in Hugging Face
// checkpoints. "Gemma", arXiv:2403.08295.
#include <cmath>

#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr double kTheta = 10000;  // GGUF files leave it out

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{plain_attention(config), usual_mlp(config)};
  layer.attention.rotary = true;
  layer.attention.rope = read_rope(config, {}, nullptr, kTheta);
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.mlp.act = Activation::gelu_tanh;  // whatever hidden_act of older configurations says
  Decoder decoder;
  decoder.norm_plus = 1;
  decoder.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGemma{"gemma", "gemma", "Gemma 1", build};

}  // namespace ingle::models
