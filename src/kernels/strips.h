// What all matmul units share: activations cut into strips of a few tokens, the order of the loops, and where
// results go. Plain data and internal linkage only, since every unit compiles this with its own instruction
// set.
#pragma once
#include <stdint.h>

#include "kernels/isa.h"
#include "kernels/layout.h"

namespace ingle::kernels {
namespace {

// Where a tile takes its accumulators from and where they go. Rows of more than one slice of k carry them
// from slice to slice in `acc` ([token][16], exact), so the chain is the same as without slices.
struct TileOut {
  float* acc;     // 64-byte aligned
  int32_t first;  // start from zero, not from acc
  int32_t last;   // finish into y, not into acc
  float* y;       // of the tile's first token and the group's first row
  int64_t ldy;
  const float* bias;
  int32_t rows;  // 1..16
  int32_t accumulate;
};

// Strips that stay in a core's second-level cache while all groups pass by; but never fewer tokens than make
// the stream of weights from memory cheap beside their arithmetic.
constexpr int64_t kStripBudget = 384 * 1024, kFewestTokens = 48;

// A strip of T quantised tokens is [k / 32][T] records: 32 bytes q, f32 d, then what the accumulator starts
// from: for a zero point the int32 -(sum << shift) of each sub-block, for a min the f32 d * sum.
template <int kLayout>
constexpr int32_t record_bytes() {
  return layout_spec(kLayout).sub == 16 ? 44 : 40;
}

template <int kLayout>
void pack_strip(const Activations& x, int64_t t0, int64_t tokens, uint8_t* out) {
  constexpr LayoutSpec s = layout_spec(kLayout);
  constexpr int32_t record = record_bytes<kLayout>();
  const int64_t blocks = x.k / kBlock;
  for (int64_t t = 0; t < tokens; ++t) {
    const int8_t* q = x.q + (t0 + t) * x.ldq;
    const float* d = x.d + (t0 + t) * x.ldb;
    const int32_t* sum = x.sum + (t0 + t) * 2 * x.ldb;
    uint8_t* to = out + t * record;
    for (int64_t b = 0; b < blocks; ++b, to += tokens * record) {
      __builtin_memcpy(to, q + b * kBlock, kBlock);
      __builtin_memcpy(to + 32, d + b, 4);
      const int32_t low = sum[2 * b], high = sum[2 * b + 1];
      if constexpr (s.zero_shift < 0) {
        const float start = d[b] * static_cast<float>(low + high);
        __builtin_memcpy(to + 36, &start, 4);
      } else if constexpr (s.sub == 32) {
        const int32_t start = -((low + high) * (1 << s.zero_shift));
        __builtin_memcpy(to + 36, &start, 4);
      } else {
        const int32_t start[2] = {-(low * (1 << s.zero_shift)), -(high * (1 << s.zero_shift))};
        __builtin_memcpy(to + 36, start, 8);
      }
    }
  }
}

// A strip of T float tokens is [k][T].
inline void pack_float_strip(const Activations& x, int64_t t0, int64_t tokens, float* out) {
  for (int64_t t = 0; t < tokens; ++t) {
    const float* from = x.f + (t0 + t) * x.ldf;
    for (int64_t i = 0; i < x.k; ++i) out[i * tokens + t] = from[i];
  }
}

// f32 to bf16, to nearest even, as the upper half of the result's bits. Subnormals become zero of their sign,
// as the products of bf16 read them.
inline uint32_t bf16_bits(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, 4);
  const uint32_t magnitude = u & 0x7fffffffu, sign = u & 0x80000000u;
  uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u;
  rounded = magnitude > 0x7f800000u ? (u & 0xffff0000u) | 0x00400000u : rounded;
  return magnitude < 0x00800000u ? sign : rounded;
}
inline uint32_t bf16_of(float x, bool rest) {
  const uint32_t high = bf16_bits(x);
  if (!rest) return high;
  float taken;
  __builtin_memcpy(&taken, &high, 4);
  return bf16_bits(x - taken);
}

// A strip of T tokens rounded to bf16 is [(k + 1) / 2][T] pairs of bf16.
inline void pack_bf16_strip(const Activations& x, int64_t t0, int64_t tokens, uint32_t* out) {
  const bool rest = x.rest != 0;
  for (int64_t t = 0; t < tokens; ++t) {
    const float* from = x.f + (t0 + t) * x.ldf;
    uint32_t* to = out + t;
    int64_t i = 0;
    for (; i + 32 <= x.k; i += 32) {  // in two steps, so that the first becomes vectors
      uint32_t pairs[16];
      for (int j = 0; j < 16; ++j)
        pairs[j] = bf16_of(from[i + 2 * j], rest) >> 16 | bf16_of(from[i + 2 * j + 1], rest);
      for (int j = 0; j < 16; ++j, to += tokens) *to = pairs[j];
    }
    for (; i < x.k; i += 2, to += tokens) {
      *to = bf16_of(from[i], rest) >> 16;
      if (i + 1 < x.k) *to |= bf16_of(from[i + 1], rest);
    }
  }
}
inline int64_t bf16_strip_bytes(int64_t k) { return (k + 1) / 2 * 4; }

// How many tokens the next tile takes, at most `widest`.
inline int64_t tile_tokens(int64_t left, int64_t widest) {
  constexpr int32_t kSizes[] = {12, 8, 6, 4, 3, 2, 1};
  for (const int32_t size : kSizes)
    if (size <= widest && size <= left) return size;
  return 1;
}

inline int64_t chunk_tokens(int64_t m, int64_t bytes_per_token, int64_t widest) {
  int64_t tokens = kStripBudget / bytes_per_token / widest * widest;
  if (tokens < kFewestTokens) tokens = kFewestTokens;
  return m < tokens ? m : tokens;
}

constexpr int64_t round64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Scratch: the chunk's strips, its accumulators, and the panel of kernels that have one.
template <class Kernel>
int64_t strip_scratch(int64_t m, int64_t k) {
  const int64_t per_token = Kernel::strip_bytes(k);
  const int64_t tokens = chunk_tokens(m, per_token, Kernel::kWidest);
  return round64(tokens * per_token) + tokens * kRows * 4 + Kernel::kPanelBytes;
}

template <class Kernel>
void run_tile(int64_t tokens, const uint8_t* w, const uint8_t* strip, int64_t k, const TileOut& out) {
  switch (tokens) {
    case 1:
      return Kernel::template tile<1>(w, strip, k, out);
    case 2:
      return Kernel::template tile<2>(w, strip, k, out);
    case 3:
      return Kernel::template tile<3>(w, strip, k, out);
    case 4:
      return Kernel::template tile<4>(w, strip, k, out);
    default:
      break;
  }
  if constexpr (Kernel::kWidest >= 6) {
    if (tokens == 6) return Kernel::template tile<6>(w, strip, k, out);
  }
  if constexpr (Kernel::kWidest >= 8) {
    if (tokens == 8) return Kernel::template tile<8>(w, strip, k, out);
  }
  if constexpr (Kernel::kWidest >= 12) {
    if (tokens == 12) return Kernel::template tile<12>(w, strip, k, out);
  }
}

// One slice of k of one group against all strips of a chunk.
template <class Kernel>
void run_slice(const uint8_t* w, int64_t k0, int64_t slice, int64_t tokens, const uint8_t* strips,
               int64_t per_token, TileOut out) {
  float* acc = out.acc;
  float* y = out.y;
  for (int64_t t = 0; t < tokens;) {
    const int64_t n = tile_tokens(tokens - t, Kernel::kWidest);
    out.acc = acc + t * kRows;
    out.y = y + t * out.ldy;
    run_tile<Kernel>(n, w, strips + t * per_token + n * Kernel::strip_bytes(k0), slice, out);
    t += n;
  }
}

// Chunks of tokens outermost, then groups of rows, slices of k, and the chunk's strips: weights are read from
// memory once per chunk, and a slice of a group stays in the first-level cache for all strips.
template <class Kernel>
void run_strips(const MatmulArgs* a) {
  const int64_t k = a->k, m = a->x.m, per_token = Kernel::strip_bytes(k);
  const int64_t chunk = chunk_tokens(m, per_token, Kernel::kWidest);
  const int64_t stride = group_bytes(Kernel::kLayout, k),
                slice_bytes = group_bytes(Kernel::kLayout, Kernel::kSlice);
  uint8_t* const acc = a->scratch + round64(chunk * per_token);
  uint8_t* const panel = acc + chunk * kRows * 4;
  for (int64_t t0 = 0; t0 < m; t0 += chunk) {
    const int64_t tokens = m - t0 < chunk ? m - t0 : chunk;
    for (int64_t t = 0; t < tokens;) {
      const int64_t n = tile_tokens(tokens - t, Kernel::kWidest);
      Kernel::pack(a->x, t0 + t, n, a->scratch + t * per_token);
      t += n;
    }
    const bool few = tokens <= Kernel::kWidest;  // one strip or little more: slices would not be used again
    for (int64_t g = a->group0; g < a->group1; ++g) {
      const int64_t row = g * kRows, rows = a->n - row < kRows ? a->n - row : kRows;
      const uint8_t* w = a->w + g * stride;
      const int64_t step = few ? k : Kernel::kSlice;
      for (int64_t k0 = 0; k0 < k; k0 += step, w += slice_bytes) {
        const int64_t slice = k - k0 < step ? k - k0 : step;
        const TileOut out = {reinterpret_cast<float*>(acc), k0 == 0,      k0 + slice == k,
                             a->y + t0 * a->ldy + row,      a->ldy,       a->bias ? a->bias + row : nullptr,
                             static_cast<int32_t>(rows),    a->accumulate};
        if constexpr (Kernel::kPanelBytes > 0) {
          if (!few) {
            Kernel::unpack_panel(w, slice, panel);
            run_slice<typename Kernel::Panel>(panel, k0, slice, tokens, a->scratch, per_token, out);
            continue;
          }
        }
        run_slice<Kernel>(w, k0, slice, tokens, a->scratch, per_token, out);
      }
    }
  }
}

}  // namespace
}  // namespace ingle::kernels
