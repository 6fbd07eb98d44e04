// GPT-2: learned positions, LayerNorm with biases, matrices stored [in, out]. Radford et al., "Language
// Models are Unsupervised Multitask Learners", 2019.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{plain_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = layer.mlp.bias = Presence::yes;
  if (!config.find_bool({"", "scale_attn_weights"}).value_or(true)) layer.attention.scale = 1;
  const bool by_layer = config.find_bool({"", "scale_attn_by_inverse_layer_idx"}).value_or(false);
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::gelu_tanh);
  Decoder decoder;
  decoder.names = Names("transformer.h.", {{"token_embd", "transformer.wte"},
                                           {"position_embd", "transformer.wpe"},
                                           {"output_norm", "transformer.ln_f"},
                                           {"attn_norm", "ln_1"},
                                           {"attn_qkv", "attn.c_attn"},
                                           {"attn_output", "attn.c_proj"},
                                           {"ffn_norm", "ln_2"},
                                           {"ffn_up", "mlp.c_fc"},
                                           {"ffn_down", "mlp.c_proj"}});
  decoder.norm = NormKind::layer;
  decoder.positions = Positions::learned;
  decoder.conv1d = true;
  decoder.layer = [&](int64_t i) {
    Layer l = layer;
    if (by_layer) l.attention.scale /= static_cast<float>(i + 1);
    return l;
  };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGpt2{"gpt2", "gpt2", "GPT-2", build};

}  // namespace ingle::models
