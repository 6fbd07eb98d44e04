// EXAONE 3 and 3.5 (arXiv:2412.04862): Llama's shape under GPT-2's names. EXAONE 4 (arXiv:2507.11407): norms
// after the blocks, norms of q and k; in models with a window, three layers of four slide and the fourth has
// no RoPE.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = layer.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  read_gguf_factors(b, config, layer.attention.rope);
  Decoder decoder;
  decoder.names = Names("transformer.h.", {{"token_embd", "transformer.wte"},
                                           {"output_norm", "transformer.ln_f"},
                                           {"attn_norm", "ln_1"},
                                           {"attn_q", "attn.attention.q_proj"},
                                           {"attn_k", "attn.attention.k_proj"},
                                           {"attn_v", "attn.attention.v_proj"},
                                           {"attn_output", "attn.attention.out_proj"},
                                           {"ffn_norm", "ln_2"},
                                           {"ffn_gate", "mlp.c_fc_0"},
                                           {"ffn_up", "mlp.c_fc_1"},
                                           {"ffn_down", "mlp.c_proj"}});
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

backends::Plan build_4(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.post_norms = true;
  layer.pre_norms = false;
  layer.attention.head_norms = true;
  read_gguf_factors(b, config, layer.attention.rope);
  return build_decoder(b, config, {.layer = [&](int64_t i) {
                         Layer l = layer;
                         if (config.window && !config.slides(i, (i + 1) % 4 != 0))
                           l.attention.window = 0, l.attention.rotary = false;
                         return l;
                       }});
}

}  // namespace

extern const Architecture kExaone{"exaone", "exaone", "EXAONE 3 and 3.5", build};
extern const Architecture kExaone4{"exaone4", "exaone4", "EXAONE 4", build_4};

}  // namespace ingle::models
