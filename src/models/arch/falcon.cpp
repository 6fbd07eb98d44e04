// Falcon 1 and 2: multi-query or grouped attention beside the feed-forward, one norm or two; the RW models
// are sequential with ALiBi. Almazrouei et al., arXiv:2311.16867.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  const auto flag = [&](const char* key, bool otherwise) {
    return config.find_bool({"", key}).value_or(otherwise);
  };
  const bool grouped = flag("new_decoder_architecture", false), one = !grouped && flag("multi_query", true);
  const graph::TensorName two{"blk.0.attn_norm_2.weight", "transformer.h.0.ln_attn.weight"};
  Layer layer{flag("alibi", false) ? plain_attention(config) : usual_attention(config, {}, 10000),
              usual_mlp(config)};
  Attention& a = layer.attention;
  if (!config.is_gguf() && !grouped) a.heads.n_kv_heads = one ? 1 : a.heads.n_heads;
  a.fused = one ? FusedQkv::rows : FusedQkv::heads;
  // The bias is added before the logits are scaled, and by transformers' plain attention, which is what we
  // are checked against, once more with the mask (its fused attention adds it once).
  if (!a.rotary) a.alibi_max = 8, a.alibi_scale = 2 * a.scale;
  a.qkv_bias = a.output_bias = layer.mlp.bias = presence_of(config, {"", "bias"}, false);
  layer.parallel = grouped || flag("parallel_attn", true);
  layer.shared_norm = !b.has(two);
  layer.mlp.gated = false;
  layer.mlp.act = read_activation(config, Activation::gelu_erf);
  std::vector<TensorRole> roles = {{"token_embd", "transformer.word_embeddings"},
                                   {"output_norm", "transformer.ln_f"},
                                   {"attn_qkv", "self_attention.query_key_value"},
                                   {"attn_output", "self_attention.dense"},
                                   {"ffn_up", "mlp.dense_h_to_4h"},
                                   {"ffn_down", "mlp.dense_4h_to_h"}};
  if (b.has(two)) {
    roles.push_back({"attn_norm", "ln_attn", "attn_norm_2"});
    roles.push_back({"ffn_norm", "ln_mlp", "attn_norm"});
  }
  Decoder decoder;
  decoder.names = Names("transformer.h.", roles);
  decoder.norm = NormKind::layer;
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kFalcon{"falcon", "falcon", "Falcon 1 and 2", build};

}  // namespace ingle::models
