// GPT-Neo: learned positions, logits that are not scaled, every other layer local. Black et al., 2021.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{plain_attention(config), usual_mlp(config)};
  layer.attention.scale = 1;
  layer.attention.output_bias = layer.mlp.bias = Presence::yes;
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::gelu_tanh);
  // "attention_layers" of every layer, or the pattern that "attention_types" repeats.
  constexpr Key kLayers{"", "attention_layers|attention_types.0.0"};
  const std::vector<std::string>* kinds = config.find_strings(kLayers);
  if (!kinds || kinds->empty()) config.refuse(kLayers, "expected global or local for each layer");
  const int64_t window = config.need_int({"", "window_size"}, 1, int64_t{1} << 24);
  Decoder decoder;
  decoder.names = Names("transformer.h.", {{"token_embd", "transformer.wte"},
                                           {"position_embd", "transformer.wpe"},
                                           {"output_norm", "transformer.ln_f"},
                                           {"attn_norm", "ln_1"},
                                           {"attn_q", "attn.attention.q_proj"},
                                           {"attn_k", "attn.attention.k_proj"},
                                           {"attn_v", "attn.attention.v_proj"},
                                           {"attn_output", "attn.attention.out_proj"},
                                           {"ffn_norm", "ln_2"},
                                           {"ffn_up", "mlp.c_fc"},
                                           {"ffn_down", "mlp.c_proj"}});
  decoder.norm = NormKind::layer;
  decoder.positions = Positions::learned;
  decoder.layer = [&](int64_t i) {
    Layer l = layer;
    const std::string& kind = (*kinds)[static_cast<size_t>(i) % kinds->size()];
    if (kind != "local" && kind != "global") config.refuse(kLayers, "a layer is '" + kind + "'");
    l.attention.window = kind == "local" ? window : 0;
    return l;
  };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGptNeo{"", "gpt_neo", "GPT-Neo", build};

}  // namespace ingle::models
