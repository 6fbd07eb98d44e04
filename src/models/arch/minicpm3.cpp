// MiniCPM3: latent attention; embeddings, blocks and logits are scaled. arXiv:2404.06395.
#include <cmath>

#include "models/architecture.h"

namespace ingle::models {
namespace {

// llama.cpp has these numbers in its code, not in the file.
constexpr double kScaleEmbedding = 12, kScaleDepth = 1.4, kBaseWidth = 256, kTheta = 10000;

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  const auto number = [&](const char* key, double fallback) {
    return static_cast<double>(config.positive_or({"", key}, fallback));
  };
  Layer layer;
  layer.mla = usual_mla(config, kTheta);
  Config turned = config;
  turned.n_rotated = layer.mla->n_rotated;
  layer.mla->rope = read_rope(turned, {}, &b, kTheta);
  layer.mlp = usual_mlp(config);
  layer.residual_scale = static_cast<float>(number("scale_depth", kScaleDepth) /
                                            std::sqrt(static_cast<double>(config.n_layers)));
  Decoder decoder;
  decoder.embedding_scale = static_cast<float>(number("scale_emb", kScaleEmbedding));
  decoder.logit_scale =
      static_cast<float>(number("dim_model_base", kBaseWidth) / static_cast<double>(config.hidden));
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kMiniCpm3{"minicpm3", "minicpm3", "MiniCPM 3", build};

}  // namespace ingle::models
