// MPT: ALiBi, LayerNorm without biases, bounded q, k and v. MosaicML, "Introducing MPT-7B", 2023.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{plain_attention(config), usual_mlp(config)};
  Attention& a = layer.attention;
  constexpr Key kNorms{"", "attn_config.qk_ln"};
  if (config.find_bool(kNorms).value_or(false)) config.refuse(kNorms, "norms of q and k are not understood");
  if (const auto n = config.find_int({"", "attn_config.kv_n_heads"}))
    a.heads.n_kv_heads = static_cast<int32_t>(*n);
  a.clip = static_cast<float>(config.positive_or({"attention.clamp_kqv", "attn_config.clip_qkv"}, 0));
  a.scale =
      static_cast<float>(config.positive_or({"", "attn_config.softmax_scale"}, static_cast<double>(a.scale)));
  a.alibi_max = config.positive_or({"attention.max_alibi_bias", "attn_config.alibi_bias_max"}, 8);
  a.qkv_bias = a.output_bias = layer.mlp.bias = Presence::optional;
  layer.mlp.gated = false;
  layer.mlp.act = Activation::gelu_erf;
  Decoder decoder;
  decoder.names = Names("transformer.blocks.", {{"token_embd", "transformer.wte"},
                                                {"output_norm", "transformer.norm_f"},
                                                {"attn_norm", "norm_1"},
                                                {"attn_qkv", "attn.Wqkv"},
                                                {"attn_output", "attn.out_proj"},
                                                {"ffn_norm", "norm_2"},
                                                {"ffn_up", "ffn.up_proj"},
                                                {"ffn_down", "ffn.down_proj"}});
  decoder.norm = NormKind::layer;
  decoder.norm_eps =
      static_cast<float>(config.positive_or({"attention.layer_norm_epsilon", "layer_norm_epsilon"}, 1e-5));
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kMpt{"mpt", "mpt", "MPT", build};

}  // namespace ingle::models
