// Gemma 3 (text): sandwich norms, head norms, five sliding layers to one full. "Gemma 3 Technical Report",
// arXiv:2503.19786. GGUF files hold norm weights with the 1 already added.
#include <cmath>

#include "core/error.h"
#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr int64_t kFullEvery = 6;
// The 27B model scales logits by hidden / heads instead of the head's width. Files have no key for it;
// llama.cpp, too, knows the model by its layers.
constexpr int64_t k27BLayers = 62;
constexpr double kLocalTheta = 10000;  // of the sliding layers; files name it only when it differs

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  if (!config.window)
    fail(Code::corrupt, config.file().name(),
         format("key '{}' is missing", config.prefixed("attention.sliding_window")));
  Layer full{usual_attention(config), usual_mlp(config), true};
  full.attention.head_norms = true;
  full.attention.window = 0;
  full.mlp.act = Activation::gelu_tanh;
  if (config.n_layers == k27BLayers)
    full.attention.scale = static_cast<float>(
        1 / std::sqrt(static_cast<double>(config.hidden) / static_cast<double>(config.n_heads)));
  Layer sliding = full;
  sliding.attention.window = *config.window;
  const std::string local_theta = "rope.freq_base_swa";
  sliding.attention.rope.theta =
      config.find_float(local_theta) ? config.need_positive(local_theta) : kLocalTheta;
  sliding.attention.rope.linear_factor = 1;
  Decoder decoder;
  decoder.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  if (config.find_float("final_logit_softcapping"))
    decoder.logit_softcap = static_cast<float>(config.need_positive("final_logit_softcapping"));
  decoder.layer = [&](int64_t i) { return (i + 1) % kFullEvery == 0 ? full : sliding; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGemma3{"gemma3", "Gemma 3, text", build};

}  // namespace ingle::models
