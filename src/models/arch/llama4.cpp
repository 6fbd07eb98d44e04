// Llama 4 (text): attention in chunks with RoPE, every fourth layer full without it and sharper with the
// position; one expert a token, whose input is weighed, beside a shared one.
#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr Key kChunk{"attention.chunk_size", "attention_chunk_size"};
constexpr Key kDenseWidth{"feed_forward_length", "intermediate_size_mlp"};

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer usual{usual_attention(config), usual_mlp(config)};
  usual.mlp.width = config.need_int(kDenseWidth, 1, 1 << 24);
  usual.attention.rope.pairs = Pairs::adjacent;
  usual.attention.qkv_bias = usual.attention.output_bias = presence_of(config, {"", "attention_bias"}, false);
  if (config.find_bool({"", "use_qk_norm"}).value_or(true))
    usual.attention.qk_norm = {NormKind::rms, QkNorm::head, true, false};
  usual.attention.window = config.has(kChunk) ? config.need_int(kChunk, 1, 1 << 24) : 8192;
  usual.attention.chunked = true;
  Moe moe = usual_moe(config, false);
  moe.router.score = RouterScore::sigmoid;
  moe.router.normalise = false;
  moe.weigh_input = true;
  moe.layout = ExpertLayout::transposed;
  moe.shared_width = moe.width;
  Attention full = usual.attention;
  full.window = 0;
  full.chunked = false;
  full.rotary = false;
  full.qk_norm = {};
  if (config.find_bool({"", "attn_temperature_tuning"}).value_or(true))
    full.temperature = {config.positive_or({"attention.temperature_scale", "attn_scale"}, 0.1),
                        config.find_int({"attention.temperature_length", "floor_scale"}).value_or(8192), 1};
  const Names names("model.layers.", {{"ffn_gate", "feed_forward.gate_proj"},
                                      {"ffn_up", "feed_forward.up_proj"},
                                      {"ffn_down", "feed_forward.down_proj"},
                                      {"ffn_gate_inp", "feed_forward.router"},
                                      {"ffn_gate_up_exps", "feed_forward.experts.gate_up_proj"},
                                      {"ffn_down_stack", "feed_forward.experts.down_proj"},
                                      {"ffn_gate_shexp", "feed_forward.shared_expert.gate_proj"},
                                      {"ffn_up_shexp", "feed_forward.shared_expert.up_proj"},
                                      {"ffn_down_shexp", "feed_forward.shared_expert.down_proj"}});
  return build_decoder(b, config, {.names = names, .layer = [&](int64_t i) {
                                     Layer layer = usual;
                                     if (!rotates(config, i)) layer.attention = full;
                                     if (!is_dense(config, i)) layer.moe = moe;
                                     return layer;
                                   }});
}

}  // namespace

extern const Architecture kLlama4{"llama4", "llama4_text", "Llama 4, text", build};

}  // namespace ingle::models
