// Op records: plain data that the graph emits and backends run. Every buffer is f32 [tokens, width]; weights,
// vectors, rotations and parts of the state are ids into the plan (backends/plan.h). Fused ops come first in
// use: a backend that does not take one gets its expansion into plain ops (graph/expand.h).
#pragma once
#include <cstdint>
#include <variant>

namespace ingle {

using Id = int32_t;  // of a buffer, weight, vector, rotation or state part
constexpr Id kNone = -1;

enum class NormKind : uint8_t { none, rms, layer };
enum class Activation : uint8_t { silu = 0, gelu_tanh = 1, gelu_erf = 2, relu = 3, relu2 = 4 };

struct NormSpec {
  NormKind kind = NormKind::none;
  Id weight = kNone, bias = kNone;  // vectors
  float eps = 0;
};
struct LinearSpec {
  Id weight = kNone;  // [out, in]
  Id bias = kNone;    // vector [out]
};
struct HeadShape {
  int32_t n_heads = 0, n_kv_heads = 0;  // query heads share kv heads in runs of n_heads / n_kv_heads
  int32_t dk = 0, dv = 0;               // widths of a key and of a value
};

namespace op {

// ---- plain ----
struct Embed {  // out = table[token] * scale
  Id out, table;
  float scale;
};
struct AddPositions {  // x += table[position + offset]; the table is a vector [positions * width]
  Id x, table;
  int32_t offset;
};
struct Norm {  // each run of `group` values of a row on its own; group = width for a row norm. Weights are
               // for one run, or for the whole row.
  Id in, out;
  NormSpec norm;
  int32_t group;
};
struct Linear {  // out = w in + bias, or out += …
  Id in, out;
  LinearSpec w;
  bool accumulate;
};
struct Rope {  // in place, on the first 2 * n values of each head
  Id x, rotation;
  int32_t n_heads, head_width;
};
struct StoreKv {
  Id k, v;
  Id part;
  int32_t layer;  // within the part
  HeadShape heads;
};
struct Attend {
  Id q, out;
  Id part;
  int32_t layer;
  HeadShape heads;
  float scale;    // of the logits
  float softcap;  // 0: off
  Id slopes =
      kNone;  // vector [n_heads]: ALiBi, slope * (key's position - query's) is added to the scaled logits
};
struct Glu {  // out = act(gate) * up
  Id gate, up, out;
  Activation act;
};
struct Activate {
  Id in, out;
  Activation act;
};
// xIELU (Huang & Schlag, arXiv:2411.13010): x > 0: alpha_p x^2 + beta x; else alpha_n (e^min(x, eps) - 1 - x)
// + beta x.
struct Xielu {
  Id in, out;
  float alpha_p, alpha_n, beta, eps;
};
struct Clamp {  // to [-limit, limit], in place
  Id x;
  float limit;
};
// x *= 1 + beta log(1 + floor((position + offset) / span)): queries of far positions ask more sharply.
struct ScaleByPosition {
  Id x;
  float beta;
  int32_t span, offset;
};
struct Add {
  Id a, b, out;
};
struct Scale {
  Id in, out;
  float factor;
};
struct Softcap {  // cap * tanh(x / cap)
  Id in, out;
  float cap;
};
// Recurrent ones: each slice goes on from its sequence's state, and leaves a new one.
struct Conv {  // depthwise, causal: out[t] = act(bias + sum_j w[j] in[t - taps + 1 + j]), per channel
  Id in, out;
  Id weight;  // vector [taps][width]
  Id bias;    // vector [width]
  int32_t taps;
  bool silu;
  Id part;  // of one head: [taps - 1][width], the last inputs
  int32_t layer;
};
// A linear recurrence. Per head, with a state S [dk][dv]:
//   S = g S;  S += k (beta (v - S^T k))^T;  out = S^T q + skip v
// with dt = clamp(softplus(raw decay + dt_bias)) and g = e^(dt rate). With `delta` (gated delta net), q and k
// are first brought to length 1, q times dk^-1/2, and beta = beta_scale sigmoid(raw beta); without (Mamba 2:
// q = C, k = B, v = x) there is no subtraction, and beta = dt. The inputs are used up.
struct Scan {
  Id in;  // holds q, k [groups][dk] and v [heads][dv] from these columns on
  int32_t q_at, k_at, v_at;
  Id decay, beta;          // [heads] raw; without delta, beta is but room
  Id out;                  // [heads][dv]
  Id rate, dt_bias, skip;  // vectors [heads]; skip may be kNone
  float dt_low, dt_high, beta_scale;
  int32_t n_heads, n_groups, dk, dv;
  bool tiled;  // head h takes group h % n_groups, instead of runs of heads for each group
  bool delta;
  Id part;
  int32_t layer;
};
struct GatherWanted {  // keeps the rows whose logits are wanted
  Id in, out;
};
struct Output {  // the rows of `in` are the step's logits
  Id in;
};

// ---- fused ----
struct AttentionInput {  // norm → q, k, v → per-head norms → rope → k and v into the state; q stays in a
                         // buffer
  Id x, q;
  NormSpec norm;
  LinearSpec wq, wk, wv;
  NormSpec q_norm, k_norm;  // over each head
  Id rotation;              // kNone: no positional encoding
  Id part;
  int32_t layer;
  HeadShape heads;
};
struct ProjectResidual {  // x += post(w in)
  Id in, x;
  LinearSpec w;
  NormSpec post;
};
struct GatedFfn {  // x += post(down(act(gate(norm(x))) * up(norm(x))))
  Id x;
  NormSpec norm;
  LinearSpec gate, up, down;
  Activation act;
  NormSpec post;
};
struct Head {  // logits of the wanted rows: softcap(w norm(x) * scale)
  Id x;
  NormSpec norm;
  LinearSpec w;
  float scale, softcap;
};

}  // namespace op

using Op =
    std::variant<op::Embed, op::AddPositions, op::Xielu, op::Clamp, op::ScaleByPosition, op::Norm, op::Linear,
                 op::Rope, op::StoreKv, op::Attend, op::Glu, op::Activate, op::Add, op::Scale, op::Softcap,
                 op::Conv, op::Scan, op::GatherWanted, op::Output, op::AttentionInput, op::ProjectResidual,
                 op::GatedFfn, op::Head>;

const char* op_name(const Op& op);

}  // namespace ingle
