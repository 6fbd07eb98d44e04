// Solar Open: Llama's attention, DeepSeek-V3's experts.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer dense{usual_attention(config), usual_mlp(config)};
  dense.attention.qkv_bias = presence_of(config, {"", "attention_bias"}, false);
  Layer sparse = dense;
  sparse.moe = sigmoid_moe(config);
  return build_decoder(b, config, {.layer = [&](int64_t i) { return is_dense(config, i) ? dense : sparse; }});
}

}  // namespace

extern const Architecture kSolarOpen{"", "solar_open", "Solar Open", build};

}  // namespace ingle::models
