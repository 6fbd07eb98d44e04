// BitNet b1.58 2B with weights in a float type: gates of squared ReLUs, norms before the output and down
// matrices. Ma et al., arXiv:2504.12285.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  layer.attention.inner_norm = layer.mlp.inner_norm = true;
  layer.mlp.act = read_activation(config, Activation::relu2);
  Decoder decoder;
  decoder.names = Names("model.layers.",
                        {{"attn_sub_norm", "self_attn.attn_sub_norm"}, {"ffn_sub_norm", "mlp.ffn_sub_norm"}});
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kBitNet{"", "bitnet", "BitNet b1.58, float weights", build};

}  // namespace ingle::models
