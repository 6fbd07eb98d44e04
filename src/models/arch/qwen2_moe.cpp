// Qwen 1.5 and 2 with experts: Qwen 2's attention, and a shared expert behind a sigmoid. arXiv:2407.10671.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.qkv_bias = Presence::yes;
  if (!config.find_bool({"", "use_sliding_window"}).value_or(false)) layer.attention.window = 0;
  Layer sparse = layer;
  sparse.moe = usual_moe(config, false);
  sparse.moe->shared_gate = true;
  const Names names("model.layers.", {{"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                      {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                      {"ffn_down_shexp", "mlp.shared_expert.down_proj"}});
  return build_decoder(
      b, config, {.names = names, .layer = [&](int64_t i) { return is_dense(config, i) ? layer : sparse; }});
}

}  // namespace

extern const Architecture kQwen2Moe{"qwen2moe", "qwen2_moe", "Qwen 1.5 and 2, with experts", build};

}  // namespace ingle::models
