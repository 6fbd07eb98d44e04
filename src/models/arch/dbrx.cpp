// DBRX: fused and bounded q, k, v; layer norms without biases; 16 experts stored as three matrices.
#include "core/error.h"
#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr Key kKvHeads{"attention.head_count_kv", "attn_config.kv_n_heads"};
constexpr Key kClip{"attention.clamp_kqv", "attn_config.clip_qkv"};
constexpr Key kPower{"", "ffn_config.moe_normalize_expert_weights"};
constexpr float kEps = 1e-5f;  // config.json does not say it

backends::Plan build(graph::GraphBuilder& b, const Config& given) {
  Config config = given;
  config.n_kv_heads = config.need_int(kKvHeads, 1, config.n_heads);
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.clip = config.positive_or(kClip, 0);
  layer.moe = usual_moe(config, true);
  layer.moe->layout = ExpertLayout::flat;
  // The chosen weights are divided by their norm; of the first order, that is their sum.
  if (const auto power = config.find_float(kPower); power && *power != 1)
    config.refuse(kPower, format("is {}, expected 1", *power));
  layer.moe->router.normalise = config.is_gguf() || config.has(kPower);
  Decoder decoder;
  decoder.names = Names("transformer.blocks.", {{"token_embd", "transformer.wte"},
                                                {"output_norm", "transformer.norm_f"},
                                                {"attn_norm", "norm_attn_norm.norm_1"},
                                                {"ffn_norm", "norm_attn_norm.norm_2", "attn_output_norm"},
                                                {"attn_qkv", "norm_attn_norm.attn.Wqkv"},
                                                {"attn_output", "norm_attn_norm.attn.out_proj"},
                                                {"ffn_gate_inp", "ffn.router.layer"},
                                                {"ffn_gate_exps", "ffn.experts.mlp.w1"},
                                                {"ffn_up_exps", "ffn.experts.mlp.v1"},
                                                {"ffn_down_exps", "ffn.experts.mlp.w2"}});
  decoder.norm = NormKind::layer;
  if (!config.is_gguf()) decoder.norm_eps = kEps;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kDbrx{"dbrx", "dbrx", "DBRX", build};

}  // namespace ingle::models
