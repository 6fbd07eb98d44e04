// Gemma 3 (text): sandwich norms, head norms, five sliding layers to one full. "Gemma 3 Technical Report",
// arXiv:2503.19786. GGUF files hold norm weights with the 1 already added.
#include <cmath>

#include "core/error.h"
#include "models/architecture.h"

namespace ingle::models {
namespace {

constexpr int64_t kFullEvery = 6;
constexpr double kLocalTheta = 10000;  // of the sliding layers; files name it only when it differs

backends::Plan build(graph::GraphBuilder& b, const Config& config) {
  if (!config.window)
    fail(Code::corrupt, config.file().name(),
         format("key '{}' is missing", config.prefixed("attention.sliding_window")));
  Layer full{usual_attention(config), usual_mlp(config), true};
  full.attention.head_norms = true;
  full.attention.window = 0;
  full.mlp.act = Activation::gelu_tanh;
  Layer sliding = full;
  sliding.attention.window = *config.window;
  sliding.attention.rope.theta = config.find_float("rope.freq_base_swa").value_or(kLocalTheta);
  sliding.attention.rope.linear_factor = 1;
  Decoder decoder{.norm_eps = config.norm_eps};
  decoder.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  decoder.logit_softcap = static_cast<float>(config.find_float("final_logit_softcapping").value_or(0));
  decoder.layer = [&](int64_t i) { return (i + 1) % kFullEvery == 0 ? full : sliding; };
  return build_decoder(b, config, decoder);
}

}  // namespace

extern const Architecture kGemma3{"gemma3", "Gemma 3, text", build};

}  // namespace ingle::models
