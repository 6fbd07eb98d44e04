// MiMo V2 Flash: values narrower than keys, and scaled; sliding layers have more kv heads, a sink in each
// head and a RoPE of their own; DeepSeek-V3's experts without a shared one.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& given) {
  Config config = given;
  config.dv = config.need_int({"attention.value_length", "v_head_dim"}, 1, 1 << 16);
  Layer full{usual_attention(config, "full_attention"), usual_mlp(config)};
  full.attention.qkv_bias = presence_of(config, {"", "attention_bias"}, false);
  full.attention.value_scale = config.positive_or({"attention.value_scale", "attention_value_scale"}, 1);
  Layer sliding = full;
  full.attention.window = 0;
  sliding.attention.heads.n_kv_heads *= 2;
  sliding.attention.rope = read_rope(config, "sliding_attention");
  sliding.attention.sinks = true;
  const Moe moe = sigmoid_moe(config);
  const Names names("model.layers.", {{"attn_sinks", "self_attn.attention_sink_bias"}});
  return build_decoder(b, config, {.names = names, .layer = [&](int64_t i) {
                                     Layer layer = config.slides(i, false) ? sliding : full;
                                     if (!is_dense(config, i)) layer.moe = moe;
                                     return layer;
                                   }});
}

}  // namespace

extern const Architecture kMimoV2Flash{"", "mimo_v2_flash", "MiMo V2 Flash", build};

}  // namespace ingle::models
