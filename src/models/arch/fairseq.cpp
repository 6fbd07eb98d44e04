// Decoders of the fairseq kind, with scaled embeddings and positions that start at 2: BioGPT has learned
// ones, XGLM sinusoids. Luo et al., arXiv:2210.10341; Lin et al., arXiv:2112.10668.
#include <cmath>

#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build_with(graph::GraphBuilder& b, const Config& config, const std::string& model,
                          Positions positions) {
  Layer layer{plain_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = layer.mlp.bias = Presence::yes;
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::gelu_erf);
  const std::string embedding = model + ".embed_tokens", places = model + ".embed_positions",
                    last = model + ".layer_norm";
  Decoder decoder;
  decoder.names = Names(model + ".layers.", {{"token_embd", embedding},
                                             {"position_embd", places},
                                             {"output_norm", last},
                                             {"output", "output_projection"},
                                             {"attn_norm", "self_attn_layer_norm"},
                                             {"attn_output", "self_attn.out_proj"},
                                             {"ffn_norm", "final_layer_norm"},
                                             {"ffn_up", "fc1"},
                                             {"ffn_down", "fc2"}});
  decoder.norm = NormKind::layer;
  decoder.norm_eps = 1e-5f;  // whatever config.json says
  decoder.positions = positions;
  decoder.position_offset = 2;
  if (config.find_bool({"", "scale_embedding"}).value_or(true))
    decoder.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

backends::Plan build_biogpt(graph::GraphBuilder& b, const Config& config) {
  return build_with(b, config, "biogpt", Positions::learned);
}
backends::Plan build_xglm(graph::GraphBuilder& b, const Config& config) {
  return build_with(b, config, "model", Positions::sinusoidal);
}

}  // namespace

extern const Architecture kBioGpt{"", "biogpt", "BioGPT", build_biogpt};
extern const Architecture kXglm{"", "xglm", "XGLM", build_xglm};

}  // namespace ingle::models
