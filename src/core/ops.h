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
enum class Activation : uint8_t {
  silu = 0,
  gelu_tanh = 1,
  gelu_erf = 2,
  relu = 3,
  relu2 = 4,
  sigmoid = 5,
  softplus = 6,
  identity = 7  // of gates alone
};

struct NormSpec {
  NormKind kind = NormKind::none;
  Id weight = kNone, bias = kNone;  // vectors
  float eps = 0;
};
struct LinearSpec {
  Id weight = kNone;  // [out, in]
  Id bias = kNone;    // vector [out]
};
// act(gate) * up with a bound on both: gate <= limit, |up| <= limit; act takes alpha * gate and is divided by
// alpha; up + up_offset (gpt-oss: SiLU, limit 7, alpha 1.702, offset 1).
struct GluBound {
  float limit = 0;  // 0: no bound, and the rest does not count
  float alpha = 1, up_offset = 0;
};
// Matrices of equal shape [out, in], as consecutive weights of the plan: of experts, or of heads.
struct BankSpec {
  Id weight = kNone;  // the first of them
  Id bias = kNone;    // vector [count * out]
  int32_t count = 0;
};
// How experts score.
enum class RouterScore : uint8_t {
  softmax,            // over all experts
  sigmoid,            // each on its own
  softmax_of_chosen,  // the best logits, then softmax over those
  sparsemixer         // two experts, each against those near it (Phi-3.5-MoE)
};
struct RouterSpec {
  RouterScore score = RouterScore::softmax;
  int32_t n_experts = 0, n_used = 0;
  int32_t n_groups = 1, n_groups_used = 1;  // experts are chosen out of the groups that score best
  int32_t group_best = 1;                   // a group's score: the sum of so many of its best
  Id correction = kNone;   // vector [n_experts], added to the scores that choose, not to those that weigh
  bool normalise = false;  // the chosen weights sum to 1, before `scale`
  float scale = 1;
  float softcap = 0;        // of the logits; 0: off
  float jitter = 0;         // sparsemixer: how near is near
  Id expert_scale = kNone;  // vector [n_experts]: times the final weights
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
  // Taken from every key before its 8-bit codes are made, [n_kv_heads][dk]: what all keys of a layer have in
  // common would use up the codes, and adds the same to each logit of a query, which its softmax does not
  // see.
  Id k_center = kNone;
};
struct Attend {
  Id q, out;
  Id part;
  int32_t layer;
  HeadShape heads;
  float scale;           // of the logits
  float softcap;         // 0: off
  Id sinks = kNone;      // vector [n_heads]: logits that take weight but have no value
  bool chunked = false;  // of the window, only positions in the query's own run of `window` are seen
  // vector [n_heads]: ALiBi, slope * (key's position - query's) is added to the scaled logits
  Id slopes = kNone;
};
struct Glu {  // out = act(gate) * up
  Id gate, up, out;
  Activation act;
  GluBound bound = {};
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
struct Gate {  // x *= act(gate); each value of the gate goes for `group` values of x
  Id x, gate;
  Activation act;
  int32_t group;
};
struct Copy {  // `count` runs of `width` values; a stride of 0 repeats one run
  Id in, out;
  int32_t in_offset, in_stride, out_offset, out_stride;
  int32_t width, count;
};
struct Scale {
  Id in, out;
  float factor;
};
struct Softcap {  // cap * tanh(x / cap)
  Id in, out;
  float cap;
};
// Parallel streams of a residual, side by side in a row: out_i = sum_j coefs[i][j] in_j (+ in_i with
// `residual`).
struct Mix {
  Id in, coefs, out;
  int32_t n_in, n_out;
  bool residual;
};
struct MatchMagnitude {  // x *= rms(like) / rms(x), with the mean square of x taken as `least` where it is
                         // less
  Id x, like;
  float least;
};
struct Sparsify {  // x = max(0, x - (mean + deviations * standard deviation)), over the row
  Id x;
  float deviations;
};
struct ScaleColumns {  // x *= by, a vector [width]
  Id x, by;
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
// A selective scan (Mamba, arXiv:2312.00752), per channel c with a state of its own: d = log(1 + e^dt),
//   S[i] = e^(d rate[i][c]) S[i] + d x b[i],  out = sum_i c[i] S[i] + skip x. dt is used up.
struct Selective {
  Id x, dt, b, c, out;  // [channels], [channels], [n_states], [n_states], [channels]
  Id rate, skip;        // vectors [n_states][channels], [channels]
  int32_t n_states;
  Id part;  // of one head: [n_states][channels]
  int32_t layer;
};
struct GatherWanted {  // keeps the rows whose logits are wanted
  Id in, out;
};
struct HeadLinear {  // run h of `out` = matrix h of the bank times run h of `in`; out's runs are out_stride
                     // apart
  Id in, out;
  BankSpec w;
  int32_t out_offset, out_stride;
};
// Experts. A token has n_used slots, in ascending order of their experts; a route is n_used numbers of
// experts, then their weights.
struct Route {
  Id logits, routes;
  RouterSpec router;
};
struct ExpertLinear {  // slot s of `out` = w[expert of s] in (+ bias), `in` being one row or a run per slot
  Id in, out, routes;
  BankSpec w;
  int32_t n_used;
  bool slots;  // `in` has a run per slot
  bool weigh;  // times the slot's weight, before the bias
};
struct Combine {  // out = sum over slots of `in`, in their order, times the slots' weights when `weigh`
  Id in, routes, out;
  int32_t n_used;
  bool weigh;
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
  Id k_center = kNone;  // as StoreKv's
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
// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): keys and values of all heads come from one
// latent row, beside a rotated key that all heads share. x += post(out(attention)). The state holds
// - absorbed (k_up and v_up given, per head): the rotated key and the latent, as one kv head; q and the
// output of a head
//   go through its up-projections, turned round;
// - plain (k_all and v_all given): keys and values of every head.
struct Mla {
  Id x;
  NormSpec norm;
  LinearSpec q_a;  // none: q comes from the normed row itself
  NormSpec q_norm;
  LinearSpec q_rope, q_nope;  // [n_heads * rope, …], [n_heads * nope, …]
  LinearSpec latent;          // [rank, width of x]
  NormSpec latent_norm;
  LinearSpec k_rope;        // [rope, width of x]
  BankSpec k_up, v_up;      // per head [rank, nope], [dv, rank]
  LinearSpec k_all, v_all;  // [n_heads * nope, rank], [n_heads * dv, rank]
  LinearSpec out;
  NormSpec post;
  float residual = 1;  // of what is added
  Id rotation;
  Id part;
  int32_t layer;
  int32_t n_heads, rope, nope, rank, dv;
  float scale;
  // Of queries: see ScaleByPosition; beta = 0: off.
  float beta = 0;
  int32_t span = 1, offset = 0;
};
struct Moe {  // x += post(sum of the chosen experts, each down(act(gate(n)) * up(n)), + shared(n)), n =
              // norm(x)
  Id x;
  Id in = kNone;  // kNone: x
  NormSpec norm;
  LinearSpec router;
  RouterSpec route;
  BankSpec gate, up, down;  // gate may be none: down(act(up(n)))
  Activation act;
  GluBound bound;
  bool weigh_input;                                // the weight goes on an expert's input, not on its output
  LinearSpec shared_gate, shared_up, shared_down;  // none: no shared expert
  LinearSpec shared_weight;                        // [1, in]: the shared output is times its sigmoid
  float scale = 1;                                 // of all that is added
  NormSpec post;
};
struct Head {  // logits of the wanted rows: softcap(w norm(x) * scale)
  Id x;
  NormSpec norm;
  LinearSpec w;
  float scale, softcap;
};

}  // namespace op

using Op = std::variant<op::Embed, op::AddPositions, op::Xielu, op::Clamp, op::ScaleByPosition, op::Norm,
                        op::Linear, op::Rope, op::StoreKv, op::Attend, op::Glu, op::Activate, op::Add,
                        op::Scale, op::Softcap, op::Mix, op::MatchMagnitude, op::Sparsify, op::ScaleColumns,
                        op::Conv, op::Scan, op::Selective, op::GatherWanted, op::Gate, op::Copy,
                        op::HeadLinear, op::Route, op::ExpertLinear, op::Combine, op::Output,
                        op::AttentionInput, op::ProjectResidual, op::GatedFfn, op::Mla, op::Moe, op::Head>;

const char* op_name(const Op& op);

}  // namespace ingle
