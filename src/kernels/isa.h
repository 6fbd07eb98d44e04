// What an ISA unit may see: plain records, no library. An ISA unit includes this, blocks.h, <stdint.h> and
// its intrinsics header, keeps everything in an anonymous namespace, and exports one extern "C" array of
// rows.
#pragma once
#include <stdint.h>

namespace ingle::kernels {

// Activations of m tokens, k values each. Quantised form (the numeric contract, docs/contracts/numerics.md):
// blocks of 32 along k, d = amax / 127, q = round-half-even(x * (127 / amax)) in [-127, 127], and the sums of
// q over each 16.
struct Activations {
  int64_t m, k;
  const float* f;  // [m][ldf]; always present
  int64_t ldf;
  const int8_t* q;  // [m][ldq], or null when only f is there; ldq is a multiple of 64
  int64_t ldq;
  const float* d;      // [m][ldb]
  const int32_t* sum;  // [m][2 * ldb], per 16 values
  int64_t ldb;
  int32_t passes;  // kPassFirst, kPassRest or kPassBoth
  // For kPassBoth of quantised activations: the 8-bit form of what the first 8 bits left over, laid out as q,
  // d, sum.
  const int8_t* rest_q;
  const float* rest_d;
  const int32_t* rest_sum;
  // Calls with the same stamp, not 0, have the same activations: strips in the scratch may be used again.
  uint64_t stamp;
};
// What of the activations is multiplied: them, as they are rounded; what that rounding left over (bf16 only,
// made from f: bf16(f - bf16(f))); or one after the other, as two chains, y = (chain (+ bias) (+ y)) + chain
// of the rest.
enum : int32_t { kPassFirst = 0, kPassRest = 1, kPassBoth = 2 };

// y[t][n] = sum_k w[n][k] x[t][k] (+ bias[n]) (+ y[t][n] when `accumulate`), for the rows of groups [group0,
// group1); a group is 16 rows of w, the last may be short (rows past n are never stored).
struct MatmulArgs {
  const uint8_t* w;  // in the packed layout of the row that runs
  int64_t n, k;
  Activations x;
  const float* bias;  // [n] or null
  float* y;           // [m][ldy]
  int64_t ldy;
  int32_t accumulate;
  int64_t group0, group1;
  uint8_t* scratch;  // scratch_bytes() of the row, this worker's own, 64-byte aligned
};

enum : int32_t { kActF32 = 0, kActQ8 = 1, kActBf16 = 2 };  // bf16: rounded from f by the row itself

struct MatmulRow {
  const char* name;    // the spec: "q4_k_q8_gemm_avx512vnni_r16"
  const char* isa;     // "plain", "avx2", "avx512vnni", "avx512bf16"
  const char* format;  // the weight format's name in the catalog
  int32_t layout;      // the packed layout that it reads (layout.h)
  int32_t activation;  // kActF32, kActQ8 or kActBf16
  void (*run)(const MatmulArgs* args);
  int64_t (*scratch_bytes)(
      int64_t m, int64_t k);  // for kPassBoth m is twice the tokens; 64 bytes at its start are 0 at first
};

enum : int32_t {
  kGluSilu = 0,
  kGluGeluTanh = 1,
  kGluGeluErf = 2,
  kGluRelu = 3,
  kGluRelu2 = 4,
  kGluSigmoid = 5
};
enum : int32_t { kKvF32 = 0, kKvF16 = 1, kKvBf16 = 2, kKvQ8 = 3, kKvQ4 = 4 };
enum : int32_t { kPageTokens = 32, kSplitTokens = 256 };

// Attention state is held in pages of 32 tokens. In a page the tile of one (layer, kv head) is
// K [dk][32] then V [32][dv] in the state's type. kKvQ8: bytes, and behind the codes of K, and of V, an f16
// scale for each of the 32 tokens; keys are turned by a Hadamard matrix first, and so are the queries: a few
// channels that are far larger than the others would else take the codes of all.
// kKvQ4: runs of 16 values are 8 bytes of codes, value i and value i + 8 sharing a byte; the last run of a
// row is padded. K is [dk][2 runs], then an f16 step for each of the dk channels, then what code 0 stands for
// (f16): a channel of a page has the values middle + step * code, with codes of -8 to 7. V is [32][runs of
// dv], then an f16 scale for each token, and is turned. A page's keys become codes when all 32 are there;
// until then, and for the queries of that page, they are in f16 elsewhere.
struct KvStoreArgs {
  int32_t type;
  int64_t dk, dv;
  int64_t slot;                     // position % 32
  const float* k;                   // [dk], after RoPE
  const float* v;                   // [dv]
  uint8_t* k_tile;                  // [dk][32]; kKvQ4: of the f16 keys
  uint8_t* v_tile;                  // [32][dv]
  const float* k_center = nullptr;  // [dk]: kKvQ8 takes it from the key first, where it is given
};

// A page's keys become the codes of kKvQ4.
struct KvCloseArgs {
  int64_t dk;
  const uint8_t* fine;  // f16 [dk][32]
  uint8_t* k_tile;
};

// Query rows that share one kv head of one sequence. Row r sees the keys at positions [first[r], last[r]]
// (absolute, inclusive). Keys are split at absolute multiples of 256 positions; the splits' (max, sum,
// output) are merged in ascending order, so a row's result depends on nothing but its own query and keys.
struct AttendArgs {
  int32_t type;
  int64_t dk, dv;
  int64_t n_rows;
  const float* const* q;  // n_rows pointers to dk floats
  float* const* out;      // n_rows pointers to dv floats
  const int64_t* first;
  const int64_t* last;
  float scale;                  // of the logits
  float softcap;                // cap * tanh(x / cap) on the scaled logits; 0 is off
  const float* slopes;          // n_rows times (key's position - last[r]) added to the scaled logits, or null
  const float* sink;            // n_rows extra logits that take weight but have no value, or null
  const uint8_t* const* pages;  // pages[p] holds positions [32 p, 32 p + 32); null where nobody looks
  int64_t k_offset, v_offset;   // bytes from a page's start to this layer's and head's tiles
  uint8_t* scratch;             // attend_scratch_bytes(n_rows, dk, dv), 64-byte aligned
  // kKvQ4: the f16 keys [dk][32] of the pages in which rows end; those pages' own K is not looked at for
  // them.
  const uint8_t* const* fine_pages;
  int64_t fine_offset;
};

// Elementwise and row operations of one ISA; every ISA gives the same bits (fixed lane structure, explicit
// fma).
struct VecRow {
  const char* isa;
  void (*quantize_q8)(const float* x, int64_t k, int8_t* q, float* d, int32_t* sum16);  // k: multiple of 32
  void (*rms_norm)(const float* x, const float* w, float* y, int64_t n,
                   float eps);  // w may be null; y may be x
  void (*layer_norm)(const float* x, const float* w, const float* b, float* y, int64_t n, float eps);
  // Half-split rotation of the first 2 * half values of each head: (x[i], x[i + half]) by (c[i], s[i]).
  void (*rope)(float* x, int64_t n_heads, int64_t head_stride, int64_t half, const float* c, const float* s);
  void (*glu)(int32_t kind, const float* gate, const float* up, float* y, int64_t n);  // y = act(gate) * up
  void (*activate)(int32_t kind, const float* x, float* y, int64_t n);
  void (*add)(const float* a, const float* b, float* y, int64_t n);
  void (*scale)(const float* x, float factor, float* y, int64_t n);
  void (*softcap)(const float* x, float cap, float* y, int64_t n);
  int64_t (*argmax)(const float* x, int64_t n);      // lowest index of the maximum
  int32_t (*all_finite)(const float* x, int64_t n);  // 1 when no NaN or infinity
  void (*f16_to_f32)(const uint16_t* x, float* y, int64_t n);
  void (*f32_to_f16)(const float* x, uint16_t* y, int64_t n);  // round to nearest even
  void (*kv_store)(const KvStoreArgs* args);
  void (*attend)(const AttendArgs* args);
  void (*kv_close)(const KvCloseArgs* args);
};

}  // namespace ingle::kernels
