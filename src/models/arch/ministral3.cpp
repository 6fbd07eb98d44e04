// Ministral 3: Llama's shape with YaRN, and queries that ask more sharply far out.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer layer{usual_attention(config), usual_mlp(config)};
  layer.attention.rope.pairs = Pairs::adjacent_in_gguf;
  constexpr Key kBeta{"", "rope_parameters.llama_4_scaling_beta|rope_scaling.llama_4_scaling_beta"};
  constexpr Key kSpan{"",
                      "rope_parameters.original_max_position_embeddings|"
                      "rope_scaling.original_max_position_embeddings"};
  if (config.has(kBeta))
    layer.attention.temperature = {config.need_positive(kBeta), config.need_int(kSpan, 1, int64_t{1} << 31),
                                   0};
  return build_decoder(b, config, {.layer = [&](int64_t) { return layer; }});
}

}  // namespace

extern const Architecture kMinistral3{"", "ministral3", "Ministral 3", build};

}  // namespace ingle::models
