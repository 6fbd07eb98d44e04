// MiniCPM3: latent attention; embeddings, blocks and logits are scaled. arXiv:2404.06395.
#include <cmath>

#include "models/architecture.h"

namespace ingle::models {
namespace {

// llama.cpp has these numbers in its code; a file may say them under the keys of the first MiniCPM.
constexpr double kScaleEmbedding = 12, kScaleDepth = 1.4, kBaseWidth = 256, kTheta = 10000;

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  const auto number = [&](Key key, double fallback) { return config.positive_or(key, fallback); };
  Layer layer;
  layer.mla = usual_mla(config, kTheta);
  Config turned = config;
  turned.n_rotated = layer.mla->n_rotated;
  layer.mla->rope = read_rope(turned, {}, &b, kTheta);
  layer.mlp = usual_mlp(config);
  layer.residual_scale = static_cast<float>(number({"", "scale_depth"}, kScaleDepth) /
                                            std::sqrt(static_cast<double>(config.n_layers)));
  layer.residual_scale = static_cast<float>(number("residual_scale", layer.residual_scale));
  Decoder decoder;
  decoder.embedding_scale = static_cast<float>(number({"embedding_scale", "scale_emb"}, kScaleEmbedding));
  const double width = static_cast<double>(config.hidden) / number({"", "dim_model_base"}, kBaseWidth);
  decoder.logit_scale = static_cast<float>(1 / number("logit_scale", width));
  decoder.layer = [&](int64_t) { return layer; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kMiniCpm3{"minicpm3", "minicpm3", "MiniCPM 3", build};

}  // namespace ingle::models
