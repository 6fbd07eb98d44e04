// LFM3 (Liquid AI, 2026): LFM2's short convolutions between windowed and full attention, whose heads are
// gated; norms around every block.
#include "models/architecture.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames("model.layers.", {{"output_norm", "model.embedding_norm"},
                                     {"attn_norm", "operator_norm"},
                                     {"post_attention_norm", "post_operator_norm"},
                                     {"ffn_norm", "ffn_norm"},
                                     {"post_ffw_norm", "post_ffn_norm"},
                                     {"shortconv.in_proj", "conv.in_proj"},
                                     {"shortconv.conv", "conv.conv"},
                                     {"shortconv.out_proj", "conv.out_proj"},
                                     {"attn_gate", "self_attn.gate_proj"},
                                     {"ffn_gate", "feed_forward.w1"},
                                     {"ffn_up", "feed_forward.w3"},
                                     {"ffn_down", "feed_forward.w2"}});

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, static_cast<float>(config.need_positive({"", "norm_eps"})));
  const std::vector<std::string> kinds =
      layer_kinds(config, {"", "layer_types"}, {"conv", "sliding_attention", "full_attention"});
  const ShortConv conv{static_cast<int32_t>(config.need_int({"", "conv_L_cache"}, 2, 64)),
                       config.find_bool({"", "conv_bias"}).value_or(false)};
  const bool sandwich = config.find_bool({"", "use_sandwich_norm"}).value_or(false);
  const Id x = f.embed();
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    const auto norm = [&](std::string_view role) { return f.rms(f.name(i, role), config.hidden); };
    const auto post = [&](std::string_view role) { return sandwich ? norm(role) : NormSpec{}; };
    const Place at{f, i, x, norm("attn_norm"), post("post_attention_norm")};
    const std::string& kind = kinds[static_cast<size_t>(i)];
    if (kind == "conv") {
      emit_short_conv(at, conv);
    } else {
      GatedAttention a = usual_gated_attention(config);
      a.window = kind == "sliding_attention" ? config.window.value_or(0) : 0;
      a.head_gates = config.find_bool({"", "use_attention_gate"}).value_or(false);
      a.rotation = b.rotation(rotation_of_layers(config, kind, config.dk));
      a.q_norm = f.rms(f.name(i, "attn_q_norm"), config.dk);
      a.k_norm = f.rms(f.name(i, "attn_k_norm"), config.dk);
      emit_attention(at, a);
    }
    f.mlp(i, x, b.rows_of(with_suffix(f.name(i, "ffn_gate"), ".weight")), Activation::silu, norm("ffn_norm"),
          post("post_ffw_norm"));
  }
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden));
}

}  // namespace

extern const Architecture kLfm3{"", "lfm3", "LFM3", build};

}  // namespace ingle::models
