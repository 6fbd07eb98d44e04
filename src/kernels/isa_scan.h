// What the recurrent rows of an ISA unit see: plain records, as in isa.h. Rows of a slice are strided; `from`
// is the state before the first of them, null for zeros, `to` the state after the last; they are never the
// same.
#pragma once
#include <stdint.h>

namespace ingle::kernels {

// One head of a linear recurrence over n tokens: S = g S, S += k (beta (v - S^T k))^T, out = S^T q + skip v,
// the subtraction only when `delta`. S is [dk][dv].
struct ScanArgs {
  int64_t n, dk, dv;
  const float *q, *k, *v;  // [n] rows `stride` apart
  int64_t stride;
  const float *g, *beta;  // [n] values `gate_stride` apart
  int64_t gate_stride;
  float* out;  // [n] rows of dv, `out_stride` apart
  int64_t out_stride;
  float skip;
  int32_t delta;
  const float* from;
  float* to;
};

// A depthwise causal convolution over n tokens, for `width` channels: out[t] = act(bias + sum_j w[j] in[t -
// taps + 1 + j]). The state is the last taps - 1 inputs; its rows and w's are `channels` apart.
struct ConvArgs {
  int64_t n, width, taps, channels;
  const float* in;  // [n] rows `stride` apart
  int64_t stride;
  const float* w;     // [taps]
  const float* bias;  // or null
  int32_t silu;
  float* out;  // [n] rows `out_stride` apart; not `in`
  int64_t out_stride;
  const float* from;
  float* to;
};

// A selective scan (Mamba) over n tokens, for `width` channels, each with a state of its own: S[i] = exp(dt
// a[i]) S[i] + dt x b[i], out = sum_i c[i] S[i] + skip x. Rows of the state and of a are `channels` apart.
struct SelectiveArgs {
  int64_t n, width, n_states, channels;
  const float *x, *dt;  // [n] rows `x_stride` and `dt_stride` apart
  int64_t x_stride, dt_stride;
  const float *b, *c;  // [n] rows of n_states, `bc_stride` apart
  int64_t bc_stride;
  const float* a;     // [n_states]
  const float* skip;  // [width]
  float* out;         // [n] rows `out_stride` apart
  int64_t out_stride;
  const float* from;
  float* to;
};

struct ScanRow {
  const char* isa;
  void (*scan)(const ScanArgs* args);
  void (*conv)(const ConvArgs* args);
  void (*selective)(const SelectiveArgs* args);
  void (*unit)(float* x, int64_t n, float eps, float scale);  // x *= scale / sqrt(sum x^2 + eps)
  void (*softplus)(const float* x, const float* bias, float* y,
                   int64_t n);  // log(1 + e^(x + bias)); bias may be null
  void (*mul)(const float* a, const float* b, float* y, int64_t n);
  void (*add_scaled)(const float* x, float factor, float* y, int64_t n);  // y += factor x
};

}  // namespace ingle::kernels
