// LFM2 (Liquid AI, 2025): gated short convolutions with a few layers of grouped-query attention between them;
// dense, and with experts routed by sigmoids with a bias.
#include "models/architecture.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames("model.layers.", {{"output_norm", "model.embedding_norm", "token_embd_norm"},
                                     {"attn_norm", "operator_norm"},
                                     {"ffn_norm", "ffn_norm"},
                                     {"shortconv.in_proj", "conv.in_proj"},
                                     {"shortconv.conv", "conv.conv"},
                                     {"shortconv.out_proj", "conv.out_proj"},
                                     {"attn_output", "self_attn.out_proj"},
                                     {"attn_q_norm", "self_attn.q_layernorm"},
                                     {"attn_k_norm", "self_attn.k_layernorm"},
                                     {"ffn_gate", "feed_forward.w1"},
                                     {"ffn_up", "feed_forward.w3"},
                                     {"ffn_down", "feed_forward.w2"},
                                     {"ffn_gate_inp", "feed_forward.gate"},
                                     {"exp_probs_b", "feed_forward.expert_bias"},
                                     {"ffn_gate_up_exps", "feed_forward.experts.gate_up_proj"},
                                     {"ffn_down_stack", "feed_forward.experts.down_proj"},
                                     {"ffn_gate_exps", "feed_forward.experts.{}.w1"},
                                     {"ffn_up_exps", "feed_forward.experts.{}.w3"},
                                     {"ffn_down_exps", "feed_forward.experts.{}.w2"}});

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  const std::vector<std::string> kinds =
      layer_kinds(f, {"", "layer_types"}, {"conv", "full_attention"},
                  {{"shortconv.in_proj", "conv"}, {"attn_q", "full_attention"}});
  const ShortConv conv{static_cast<int32_t>(config.need_int({"shortconv.l_cache", "conv_L_cache"}, 2, 64)),
                       config.find_bool({"", "conv_bias"}).value_or(false)};
  const Id rotation = b.rotation(rotation_of(read_rope(config)));
  const Id x = f.embed();
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    const Place at{f, i, x, f.rms(f.name(i, "attn_norm"), config.hidden)};
    if (kinds[static_cast<size_t>(i)] == "conv") {
      emit_short_conv(at, conv);
    } else {
      GatedAttention a = usual_gated_attention(config);
      a.rotation = rotation;
      a.q_norm = f.rms(f.name(i, "attn_q_norm"), config.dk);
      a.k_norm = f.rms(f.name(i, "attn_k_norm"), config.dk);
      emit_attention(at, a);
    }
    const NormSpec norm = f.rms(f.name(i, "ffn_norm"), config.hidden);
    if (config.has({"expert_count", "num_experts"}) && !is_dense(config, i)) {
      Moe moe = sigmoid_moe(config);
      moe.router.normalise = config.find_bool({"", "norm_topk_prob"}).value_or(true);
      moe.correction = config.find_bool({"", "use_expert_bias"}).value_or(true);
      f.moe(i, x, moe, norm);
      continue;
    }
    // The width in config.json may be one that is still to be rounded; the tensor has it as it is.
    f.mlp(i, x, b.rows_of(with_suffix(f.name(i, "ffn_gate"), ".weight")), Activation::silu, norm);
  }
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden));
}

}  // namespace

extern const Architecture kLfm2{"lfm2 lfm2moe", "lfm2 lfm2_moe", "LFM2", build};

}  // namespace ingle::models
