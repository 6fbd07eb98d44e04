// The blocks that decoders are made of, as small specs: an architecture file fills them in, emit_* builds
// them.
#pragma once
#include <functional>
#include <string>

#include "graph/builder.h"
#include "models/config.h"

namespace ingle::models {

enum class Presence : uint8_t { no, optional, yes };

// How much RoPE turns and how fast. `frequency_factors` divides each pair's frequency (Llama 3's scaling, as
// the container computed it).
struct Rope {
  double theta = 0;
  int64_t n_rotated = 0;
  double linear_factor = 1;  // positions are divided by it
  std::vector<float> frequency_factors;
  bool adjacent_pairs = false;  // the container stores Q and K rows with rotated pairs side by side
};
// Reads theta and the scaling of the file. Throws naming the kind when the scaling is not understood.
Rope read_rope(const Config& config);

struct Attention {
  HeadShape heads;
  Presence qkv_bias = Presence::no, output_bias = Presence::no;
  bool head_norms = false;  // RMS norms over each head of q and k, before RoPE
  Rope rope;
  int64_t window = 0;  // 0: all
  float scale = 0;     // of the logits
  float softcap = 0;
};

struct Mlp {
  int64_t width = 0;
  Activation act = Activation::silu;
  Presence bias = Presence::no;
};

struct Layer {
  Attention attention;
  Mlp mlp;
  bool post_norms = false;  // a norm on each block's output, before the residual (Gemma 2 and later)
};

struct Decoder {
  NormKind norm = NormKind::rms;
  float embedding_scale = 1;
  float logit_softcap = 0;
  std::function<Layer(int64_t index)> layer;
};

// The defaults of a Llama-shaped attention and feed-forward block, from the common configuration.
Attention usual_attention(const Config& config);
Mlp usual_mlp(const Config& config);

// The usual transformer: embedding, layers, final norm, head (tied when the file has no output matrix).
backends::Plan build_decoder(graph::GraphBuilder& builder, const Config& config, const Decoder& decoder);

}  // namespace ingle::models
