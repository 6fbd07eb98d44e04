// The blocks that decoders are made of, as small specs: an architecture file fills them in, build_decoder
// builds them.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "graph/builder.h"
#include "models/blocks_mla.h"
#include "models/blocks_moe.h"
#include "models/config.h"
#include "models/names.h"
#include "models/rope.h"

namespace ingle::models {

enum class Presence : uint8_t { no, optional, yes };

// Where the rows of q, k and v lie in a fused "attn_qkv" of a Hugging Face checkpoint. GGUF converters write
// q, k, v one after another whatever the original had.
enum class FusedQkv : uint8_t {
  rows,    // all of q, all of k, all of v
  heads,   // for each kv head: its query heads, its k, its v
  blocks,  // for each of four blocks of heads: its q, its v, its k (CodeGen)
};

// Norms of q and k. Tensors "attn_q_norm", "attn_k_norm".
struct QkNorm {
  enum Span : uint8_t {
    head,   // over each head, one set of weights for all
    heads,  // over each head, weights for each
    row     // over the whole row
  };
  NormKind kind = NormKind::none;
  Span span = head;
  bool after_rope = false, weights = true;
};

// The output of attention is times an activation of a product of the block's input. Tensor "attn_gate".
struct AttentionGate {
  enum Span : uint8_t { none, heads, values };  // one gate for each head, or for each of its values
  Activation act = Activation::sigmoid;
  Span span = none;
};

struct Attention {
  HeadShape heads;
  Presence qkv_bias = Presence::no, output_bias = Presence::no;
  bool head_norms = false;  // RMS norms over each head of q and k, before RoPE; short for the usual qk_norm
  QkNorm qk_norm;
  FusedQkv fused = FusedQkv::rows;
  bool rotary = true;  // false: no RoPE
  Rope rope;
  int64_t window = 0;  // 0: all
  float scale = 0;     // of the logits
  float softcap = 0;
  float clip = 0;        // bound of q, k and v, after norms and before RoPE; 0: off
  double alibi_max = 0;  // ALiBi whose slopes go down to 2^-alibi_max; 0: off
  float alibi_scale = 1;
  Temperature temperature;
  AttentionGate gate;
  bool sinks = false;    // a logit per head that takes weight but has no value ("attn_sinks")
  bool chunked = false;  // of the window, only positions in the query's own run of `window` are seen
  float value_scale = 1;
  bool inner_norm = false;  // a norm of what the output matrix takes ("attn_sub_norm")
};

struct Mlp {
  int64_t width = 0;
  Activation act = Activation::silu;
  Presence bias = Presence::no;
  bool fused_gate = false;  // "ffn_up" holds the rows of gate, then those of up
  bool gated = true;        // act(gate) * up; false: act(up)
  bool xielu = false;       // instead of `act`, with the file's "ffn_act" parameters
  bool inner_norm = false;  // a norm of what the down matrix takes ("ffn_sub_norm")
};

struct Layer {
  Attention attention;
  Mlp mlp;
  bool post_norms = false;      // a norm on each block's output, before the residual (Gemma 2 and later)
  bool pre_norms = true;        // a norm on each block's input
  bool parallel = false;        // both blocks read the same input, and are added together
  bool shared_norm = false;     // of parallel blocks: one norm for both
  bool norm_after_add = false;  // each block's norm comes after the residual, and there is none before
  float residual_scale = 1;     // of each block's output
  std::optional<Mla> mla = {};  // in place of attention
  std::optional<Moe> moe = {};  // in place of the feed-forward block
};

enum class Positions : uint8_t { none, learned, sinusoidal };

struct Decoder {
  Names names = {};
  NormKind norm = NormKind::rms;
  bool norm_weights = true;
  float norm_plus = 0;  // what Hugging Face checkpoints leave out of norm weights; GGUF files have it added
  float norm_eps = 0;   // 0: as the file says
  float embedding_scale = 1;
  int64_t embedding_width = 0;  // when other than the residual stream: "embd_in" and "embd_out" lead over
  bool embedding_norm = false;  // "token_embd_norm"
  Positions positions = Positions::none;
  int32_t position_offset = 0;  // of position 0 in the table
  bool final_norm = true;
  float logit_scale = 1;
  float logit_softcap = 0;
  Presence output_bias = Presence::no;
  bool conv1d = false;  // Hugging Face's matrices are stored [in, out] (GPT-2)
  std::function<Layer(int64_t index)> layer;
};

// The defaults of a Llama-shaped attention and feed-forward block, from the common configuration. `layers`
// and `otherwise` as in read_rope.
Attention usual_attention(const Config& config, const std::string& layers = {}, double otherwise = 0);
Mlp usual_mlp(const Config& config);
// Does layer i have RoPE, in families where every fourth one (config.json may tell another rule) has none?
bool rotates(const Config& config, int64_t layer);
// Without RoPE.
Attention plain_attention(const Config& config);

// The activation that config.json names ("hidden_act", "activation_function", "activation", …); `otherwise`
// for GGUF files, which name none. Throws Code::unsupported naming one that is not understood.
Activation read_activation(const Config& config, Activation otherwise);
Presence presence_of(const Config& config, Key key, bool otherwise);  // of a bias, by a flag of config.json

// The usual transformer: embedding, layers, final norm, head (tied when the file says so or has no output
// matrix).
backends::Plan build_decoder(graph::GraphBuilder& builder, const Config& config, const Decoder& decoder);

}  // namespace ingle::models
