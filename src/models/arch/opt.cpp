// OPT: learned positions that start at 2, ReLU; the 350M model has its norms after the residual and a
// narrower embedding. Zhang et al., arXiv:2205.01068.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{plain_attention(config), usual_mlp(config)};
  layer.norm_after_add = !config.find_bool({"", "do_layer_norm_before"}).value_or(true);
  layer.attention.qkv_bias = layer.attention.output_bias = layer.mlp.bias =
      presence_of(config, {"", "enable_bias"}, true);
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::relu);
  Decoder decoder;
  decoder.names = Names("model.decoder.layers.", {{"token_embd", "model.decoder.embed_tokens"},
                                                  {"position_embd", "model.decoder.embed_positions"},
                                                  {"embd_in", "model.decoder.project_in"},
                                                  {"embd_out", "model.decoder.project_out"},
                                                  {"output_norm", "model.decoder.final_layer_norm"},
                                                  {"attn_norm", "self_attn_layer_norm"},
                                                  {"attn_output", "self_attn.out_proj"},
                                                  {"ffn_norm", "final_layer_norm"},
                                                  {"ffn_up", "fc1"},
                                                  {"ffn_down", "fc2"}});
  decoder.norm = NormKind::layer;
  decoder.norm_weights = config.find_bool({"", "layer_norm_elementwise_affine"}).value_or(true);
  decoder.norm_eps = 1e-5f;
  decoder.positions = Positions::learned;
  decoder.position_offset = 2;
  decoder.embedding_width = config.find_int({"", "word_embed_proj_dim"}).value_or(config.hidden);
  decoder.final_norm =
      !layer.norm_after_add && !config.find_bool({"", "_remove_final_layer_norm"}).value_or(false);
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kOpt{"", "opt", "OPT", build};

}  // namespace ingle::models
