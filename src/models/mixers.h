// Blocks whose state every token replaces, in attention's place: gated short convolutions, the gated delta
// net, Mamba 2; and attention whose output is gated. Each is x += residual * post(block(norm(x))).
#pragma once
#include <limits>

#include "models/flow.h"

namespace ingle::models {

struct Place {
  Flow& flow;
  int64_t layer;
  Id x;
  NormSpec norm, post = {};
  float residual = 1;
  Id into = kNone;  // where the block's output is added, when other than x
  Id target() const { return into == kNone ? x : into; }
};

// The kinds of layers that config.json lists. Throws naming the key when there are not as many as layers, or
// one is none of `known`.
std::vector<std::string> layer_kinds(const Config& config, Key key, const std::vector<std::string>& known);
// GGUF files do not list them: there a layer is of the first of `told_by` whose tensor it has, else of the
// last.
struct ToldBy {
  std::string_view role, kind;
};
std::vector<std::string> layer_kinds(const Flow& flow, Key key, const std::vector<std::string>& known,
                                     const std::vector<ToldBy>& told_by);

// LFM2 (Liquid AI, 2025): b, c, v = in(x); out(c * conv(b * v)). Roles "shortconv.in_proj", "shortconv.conv",
// "shortconv.out_proj".
struct ShortConv {
  int32_t taps = 3;
  bool bias = false;
};
void emit_short_conv(const Place& at, const ShortConv& spec);

// Yang et al., "Gated Delta Networks", arXiv:2412.06464, as Qwen3-Next has it. Roles "ssm_conv1d", "ssm_a",
// "ssm_dt", "ssm_norm", "ssm_out", and "attn_qkv", "attn_gate", "ssm_beta", "ssm_alpha", or, fused, "ssm_in"
// and "ssm_ba": there, for each group, q, k, its heads' v and z, and its heads' beta and alpha.
struct GatedDelta {
  int32_t n_groups = 0, n_heads = 0, dk = 0, dv = 0, taps = 0;  // of q and k; of v
};
void emit_gated_delta(const Place& at, const GatedDelta& spec);

// Dao & Gu, "Transformers are SSMs", arXiv:2405.21060. Roles "ssm_in", "ssm_conv1d", "ssm_dt", "ssm_a",
// "ssm_d", "ssm_norm", "ssm_out".
struct Mamba2 {
  enum Norm : uint8_t { none, after_gate, before_gate };
  int32_t n_heads = 0, head_width = 0, n_groups = 0, n_states = 0, taps = 0;
  bool conv_bias = false;
  Presence in_bias = Presence::no, out_bias = Presence::no;
  Norm norm = after_gate;  // of the output, in n_groups groups
  float norm_eps = 0;
  float dt_low = 0, dt_high = std::numeric_limits<float>::infinity();
  // What z, x, B, C, dt, and the block's input and output are multiplied by (Falcon-H1).
  float z_scale = 1, x_scale = 1, b_scale = 1, c_scale = 1, dt_scale = 1, in_scale = 1;
};
void emit_mamba2(const Place& at, const Mamba2& spec);
// From config.json, keys as most hybrids have them, or from a GGUF file.
struct Mamba2Keys {
  Key heads = {"", "mamba_n_heads"}, head_width = {"", "mamba_d_head"}, groups = {"", "mamba_n_groups"},
      states = {"", "mamba_d_state"}, taps = {"", "mamba_d_conv"}, conv_bias = {"", "mamba_conv_bias"},
      bias = {"", "mamba_proj_bias"};
};
Mamba2 read_mamba2(const Config& config, float norm_eps, const Mamba2Keys& keys = {});

// Gu & Dao, "Mamba", arXiv:2312.00752. Roles "ssm_in", "ssm_conv1d", "ssm_x", "ssm_dt", "ssm_a", "ssm_d",
// "ssm_out", and "ssm_dt_norm", "ssm_b_norm", "ssm_c_norm" where there are norms with weights.
struct Mamba {
  enum Norms : uint8_t { none, bare, weighted };
  int64_t inner = 0, n_states = 0, rank = 0;
  int32_t taps = 0;
  bool conv_bias = false;
  Presence bias = Presence::no;
  Norms norms = none;  // of dt's row, of B and C
  float norm_eps = 0;
};
void emit_mamba(const Place& at, const Mamba& spec);

// Grouped-query attention with the roles of the usual decoder.
struct GatedAttention {
  HeadShape heads;
  int64_t window = 0;
  Id rotation = kNone;
  NormSpec q_norm, k_norm;
  float scale = 0, in_scale = 1;  // of the logits; of the block's input
  Pairs pairs = Pairs::halves;
  Presence bias = Presence::no, output_bias = Presence::no;
  bool head_gates = false;  // output * sigmoid of a product, one for each head: "attn_gate"
  bool gated = false;       // "attn_q" holds for each head its query, then its gate: output * sigmoid(gate)
};
// Of one kind of layers, as config.json names it. Beside what read_rope knows, "proportional": speeds as if
// all pairs turned, of which only the first do.
backends::PlanRotation rotation_of_layers(const Config& config, const std::string& kind, int64_t head_width);
void emit_attention(const Place& at, const GatedAttention& spec);
GatedAttention usual_gated_attention(const Config& config);  // heads and scale

}  // namespace ingle::models
