// What all matmul units share: activations cut into strips of a few tokens, the order of the loops, and where
// results go. Plain data and internal linkage only, since every unit compiles this with its own instruction
// set.
#pragma once
#include <stdint.h>

#include "kernels/isa.h"
#include "kernels/layout.h"

namespace ingle::kernels {
namespace {

// Results of one tile: `rows` (1..16) rows of a group for some tokens.
struct TileOut {
  float* y;
  int64_t ldy;
  const float* bias;
  int32_t rows;
  int32_t accumulate;
};

// Strips that stay in a core's second-level cache while all groups pass by.
constexpr int64_t kStripBudget = 384 * 1024;

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

// How many tokens the next tile takes, at most `widest`.
inline int64_t tile_tokens(int64_t left, int64_t widest) {
  constexpr int32_t kSizes[] = {12, 8, 6, 4, 3, 2, 1};
  for (const int32_t size : kSizes)
    if (size <= widest && size <= left) return size;
  return 1;
}

inline int64_t chunk_tokens(int64_t m, int64_t bytes_per_token, int64_t widest) {
  int64_t tokens = kStripBudget / bytes_per_token / widest * widest;
  if (tokens < widest) tokens = widest;
  return m < tokens ? m : tokens;
}

template <class Kernel>
int64_t strip_scratch(int64_t m, int64_t k) {
  const int64_t per_token = Kernel::strip_bytes(k);
  return (chunk_tokens(m, per_token, Kernel::kWidest) * per_token + 63) / 64 * 64;
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

// Chunks of tokens outermost, then groups of rows, then the chunk's strips: weights are read from memory once
// per chunk, and a group stays in the cache for all strips.
template <class Kernel>
void run_strips(const MatmulArgs* a) {
  const int64_t k = a->k, m = a->x.m, per_token = Kernel::strip_bytes(k);
  const int64_t chunk = chunk_tokens(m, per_token, Kernel::kWidest);
  const int64_t stride = group_bytes(Kernel::kLayout, k);
  for (int64_t t0 = 0; t0 < m; t0 += chunk) {
    const int64_t t1 = t0 + chunk < m ? t0 + chunk : m;
    for (int64_t t = t0; t < t1;) {
      const int64_t tokens = tile_tokens(t1 - t, Kernel::kWidest);
      Kernel::pack(a->x, t, tokens, a->scratch + (t - t0) * per_token);
      t += tokens;
    }
    for (int64_t g = a->group0; g < a->group1; ++g) {
      const int64_t row = g * kRows;
      const int64_t rows = a->n - row < kRows ? a->n - row : int64_t{kRows};
      TileOut out = {nullptr, a->ldy, a->bias ? a->bias + row : nullptr, static_cast<int32_t>(rows),
                     a->accumulate};
      for (int64_t t = t0; t < t1;) {
        const int64_t tokens = tile_tokens(t1 - t, Kernel::kWidest);
        out.y = a->y + t * a->ldy + row;
        run_tile<Kernel>(tokens, a->w + g * stride, a->scratch + (t - t0) * per_token, k, out);
        t += tokens;
      }
    }
  }
}

}  // namespace
}  // namespace ingle::kernels
