// nanochat (Karpathy, 2025): norms without weights, one more on the embedding, norms of q and k after a RoPE
// that turns backwards, squared ReLU, capped logits.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.attention.qk_norm = {NormKind::rms, QkNorm::head, true, false};
  layer.attention.rope.backwards = true;
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::relu2);
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"ffn_up", "mlp.fc1"}, {"ffn_down", "mlp.fc2"}});
  decoder.norm_weights = false;
  decoder.embedding_norm = true;
  decoder.logit_softcap = static_cast<float>(config.positive_or({"", "final_logit_softcapping"}, 0));
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kNanoChat{"", "nanochat", "nanochat", build};

}  // namespace ingle::models
