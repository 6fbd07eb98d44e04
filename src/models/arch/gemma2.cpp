// Gemma 2 ("Gemma 2", arXiv:2408.00118): sandwich norms, soft caps, every other layer sliding; and VaultGemma
// (arXiv:2510.15001), which has no norms after its blocks.
#include <cmath>

#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr double kTheta = 10000;  // GGUF files leave it out

// The 27B model scales logits by hidden / heads; GGUF files have no key for it, so it is known by its layers.
constexpr int64_t k27BLayers = 46;
constexpr Key kScalar{"", "query_pre_attn_scalar"};

double query_scalar(const Config& config) {
  if (config.has(kScalar)) return config.need_positive(kScalar);
  if (config.n_layers == k27BLayers)
    return static_cast<double>(config.hidden) / static_cast<double>(config.n_heads);
  return static_cast<double>(config.dk);
}

backends::Plan build_with(graph::GraphBuilder& b, const Config& config, bool post_norms) {
  Layer sliding{plain_attention(config), usual_mlp(config)};
  sliding.attention.rotary = true;
  sliding.attention.rope = read_rope(config, {}, nullptr, kTheta);
  sliding.post_norms = post_norms;
  sliding.attention.scale = static_cast<float>(1 / std::sqrt(query_scalar(config)));
  sliding.attention.softcap =
      static_cast<float>(config.positive_or({"attn_logit_softcapping", "attn_logit_softcapping"}, 0));
  sliding.attention.qkv_bias = sliding.attention.output_bias =
      presence_of(config, {"", "attention_bias"}, false);
  sliding.mlp.act = Activation::gelu_tanh;
  Layer full = sliding;
  full.attention.window = 0;
  Decoder decoder;
  if (!post_norms) decoder.names = Names("model.layers.", {{"ffn_norm", "pre_feedforward_layernorm"}});
  decoder.norm_plus = 1;
  decoder.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  decoder.logit_softcap =
      static_cast<float>(config.positive_or({"final_logit_softcapping", "final_logit_softcapping"}, 0));
  decoder.layer = [&](int64_t i) { return config.slides(i, i % 2 == 0) ? sliding : full; };
  return build_decoder(b, config, decoder);
}

backends::Plan build(graph::GraphBuilder& b, const Config& config) { return build_with(b, config, true); }
backends::Plan build_vault(graph::GraphBuilder& b, const Config& config) {
  return build_with(b, config, false);
}

}  // namespace

extern const Architecture kGemma2{"gemma2", "gemma2", "Gemma 2", build};
extern const Architecture kVaultGemma{"", "vaultgemma", "VaultGemma", build_vault};

}  // namespace ingle::models
