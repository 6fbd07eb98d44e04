// Granite 4 hybrids: Mamba 2 and attention without positions, four multipliers, experts beside a shared one.
// IBM, 2025.
#include "core/error.h"
#include "models/architecture.h"
#include "models/mixers.h"

namespace ingle::models {
namespace {

const Names kNames("model.layers.", {{"ssm_in", "mamba.in_proj"},
                                     {"ssm_conv1d", "mamba.conv1d"},
                                     {"ssm_dt", "mamba.dt_bias"},
                                     {"ssm_a", "mamba.A_log"},
                                     {"ssm_d", "mamba.D"},
                                     {"ssm_norm", "mamba.norm"},
                                     {"ssm_out", "mamba.out_proj"},
                                     {"ffn_gate_inp", "block_sparse_moe.router.layer"},
                                     {"ffn_gate_up_exps", "block_sparse_moe.input_linear"},
                                     {"ffn_down_stack", "block_sparse_moe.output_linear"},
                                     {"ffn_up_shexp", "shared_mlp.input_linear"},
                                     {"ffn_down_shexp", "shared_mlp.output_linear"}});

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Flow f(b, config, kNames, norm_eps(config));
  const auto multiplier = [&](Key key) { return static_cast<float>(config.positive_or(key, 1)); };
  const std::vector<std::string> kinds = layer_kinds(
      f, {"", "layer_types|layers_block_type"}, {"linear_attention", "full_attention", "mamba", "attention"},
      {{"ssm_in", "mamba"}, {"attn_q", "attention"}});
  const Mamba2 mamba = read_mamba2(config, f.eps());
  const float residual = multiplier({"residual_scale", "residual_multiplier"});
  const std::string* positions = config.find_string({"", "position_embedding_type"});
  const bool rotary = config.is_gguf() ? config.find_bool("rope.scaling.finetuned").value_or(true)
                                       : positions && *positions == "rope";
  if (rotary && config.is_gguf() &&
      config.n_rotated < config.dk)  // Bamba, as llama.cpp's converter writes it
    config.refuse("rope.dimension_count", format("{} of a head's {} values are rotated, but rows were "
                                                 "reordered as if all were; load the model's folder",
                                                 config.n_rotated, config.dk));
  const Id rotation = rotary ? b.rotation(rotation_of(read_rope(config))) : kNone;
  const bool experts = config.find_int({"expert_count", "num_local_experts"}).value_or(0) > 0;
  const Id x = f.embed(multiplier({"embedding_scale", "embedding_multiplier"}));
  for (int64_t i = 0; i < config.n_layers; ++i) {
    b.mark_stream(x);
    const Place at{.flow = f,
                   .layer = i,
                   .x = x,
                   .norm = f.rms(f.name(i, "attn_norm"), config.hidden),
                   .residual = residual};
    if (kinds[static_cast<size_t>(i)] == "linear_attention" || kinds[static_cast<size_t>(i)] == "mamba") {
      emit_mamba2(at, mamba);
    } else {
      GatedAttention a = usual_gated_attention(config);
      if (!config.is_gguf() || config.has("attention.scale"))
        a.scale = multiplier({"attention.scale", "attention_multiplier"});
      a.pairs = Pairs::adjacent_in_gguf;
      a.rotation = rotation;
      emit_attention(at, a);
    }
    const NormSpec norm = f.rms(f.name(i, "ffn_norm"), config.hidden);
    const int64_t shared = config.need_int(
        {"expert_shared_feed_forward_length|feed_forward_length", "shared_intermediate_size"}, 1, 1 << 24);
    if (!experts && config.is_gguf()) {
      f.mlp(i, x, config.n_ffn, Activation::silu, norm, {}, residual);
      continue;
    }
    if (!experts) {
      f.fused_mlp(i, x, "ffn_up_shexp", "ffn_down_shexp", shared, norm, residual);
      continue;
    }
    Moe moe = usual_moe(config, false);
    moe.router.score = RouterScore::softmax_of_chosen;
    moe.shared_width = shared;
    moe.shared_fused = true;
    moe.scale = residual;
    f.moe(i, x, moe, norm);
  }
  return f.finish(x, f.rms(f.names.of_model("output_norm"), config.hidden),
                  1 / multiplier({"logit_scale", "logits_scaling"}));
}

}  // namespace

extern const Architecture kGraniteHybrid{"granitehybrid", "granitemoehybrid", "Granite 4, hybrids", build};

}  // namespace ingle::models
