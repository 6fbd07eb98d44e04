// The blocks that decoders are made of, as small specs: an architecture file fills them in, build_decoder
// builds them.
#pragma once
#include <functional>
#include <string>

#include "graph/builder.h"
#include "models/config.h"
#include "models/names.h"
#include "models/rope.h"

namespace ingle::models {

enum class Presence : uint8_t { no, optional, yes };

// Where the rows of q, k and v lie in a fused "attn_qkv" of a Hugging Face checkpoint. GGUF converters write
// q, k, v one after another whatever the original had.
enum class FusedQkv : uint8_t {
  rows,   // all of q, all of k, all of v
  heads,  // for each kv head: its query heads, its k, its v
};

struct Attention {
  HeadShape heads;
  Presence qkv_bias = Presence::no, output_bias = Presence::no;
  bool head_norms = false;  // RMS norms over each head of q and k, before RoPE
  FusedQkv fused = FusedQkv::rows;
  Rope rope;
  int64_t window = 0;  // 0: all
  float scale = 0;     // of the logits
  float softcap = 0;
};

struct Mlp {
  int64_t width = 0;
  Activation act = Activation::silu;
  Presence bias = Presence::no;
  bool fused_gate = false;  // "ffn_up" holds the rows of gate, then those of up
};

struct Layer {
  Attention attention;
  Mlp mlp;
  bool post_norms = false;  // a norm on each block's output, before the residual (Gemma 2 and later)
};

struct Decoder {
  Names names;
  NormKind norm = NormKind::rms;
  float norm_plus = 0;  // what Hugging Face checkpoints leave out of norm weights; GGUF files have it added
  float embedding_scale = 1;
  float logit_softcap = 0;
  std::function<Layer(int64_t index)> layer;
};

// The defaults of a Llama-shaped attention and feed-forward block, from the common configuration. `layers` as
// in read_rope.
Attention usual_attention(const Config& config, const std::string& layers = {});
Mlp usual_mlp(const Config& config);

// The usual transformer: embedding, layers, final norm, head (tied when the file says so or has no output
// matrix).
backends::Plan build_decoder(graph::GraphBuilder& builder, const Config& config, const Decoder& decoder);

}  // namespace ingle::models
