// Phi 3, 3.5 and 4, dense: Llama's shape with fused matrices, LongRoPE and a window. Abdin et al.,
// arXiv:2404.14219.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{plain_attention(config), usual_mlp(config)};
  layer.attention.rotary = true;
  layer.attention.rope = read_rope(config, {}, &b);
  layer.mlp.fused_gate = true;
  Decoder decoder;
  decoder.names = Names("model.layers.", {{"ffn_up", "mlp.gate_up_proj"}});
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kPhi3{"phi3", "phi3", "Phi 3 to 4", build};

}  // namespace ingle::models
