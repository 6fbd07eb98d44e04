// Mistral 4: latent attention whose queries sharpen with their position, experts by softmax.
#include "models/architecture.h"

namespace ingle::models {
namespace {

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  Layer dense;
  dense.mla = usual_mla(config);
  dense.mla->temperature = llama4_temperature(config);
  dense.mlp = usual_mlp(config);
  Layer sparse = dense;
  sparse.moe = usual_moe(config, true);
  read_groups(config, *sparse.moe);
  if (sparse.moe->router.n_groups > 1) sparse.moe->router.group_best = 2;
  return build_decoder(b, config, {.layer = [&](int64_t i) { return is_dense(config, i) ? dense : sparse; }});
}

}  // namespace

extern const Architecture kMistral4{"mistral4", "mistral4", "Mistral 4", build};

}  // namespace ingle::models
