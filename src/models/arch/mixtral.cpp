// Mixtral: Mistral with experts in place of the feed-forward block. Jiang et al., arXiv:2401.04088. GGUF
// calls it Llama.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.moe = usual_moe(config, true);
  const Names names("model.layers.", {{"ffn_gate_inp", "block_sparse_moe.gate"},
                                      {"ffn_gate_exps", "block_sparse_moe.experts.{}.w1"},
                                      {"ffn_up_exps", "block_sparse_moe.experts.{}.w3"},
                                      {"ffn_down_exps", "block_sparse_moe.experts.{}.w2"}});
  return build_decoder(b, config, {.names = names, .layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kMixtral{"", "mixtral", "Mixtral", build};

}  // namespace ingle::models
