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
// from slice to slice in `acc` ([record][16], exact), so the chain is the same as without slices.
struct TileOut {
  float* acc;     // 64-byte aligned
  int32_t first;  // start from zero, not from acc
  int32_t last;   // finish into y, not into acc
  float* y;       // of the tile's first token and the group's first row
  int64_t ldy;
  const float* bias;
  int32_t rows;  // 1..16
  int32_t accumulate;
  int32_t paired;  // the second half of the tile's records are the rests of the first half
};

// Strips that stay in a core's second-level cache while all groups pass by; but never fewer records than make
// the stream of weights from memory cheap beside their arithmetic.
constexpr int64_t kStripBudget = 384 * 1024, kFewestRecords = 48;
constexpr int64_t kKeptBudget = int64_t{16} << 20;  // strips of a whole call, kept for the next one

// Which of a strip's records a packer fills: those of tokens [t0, t0 + tokens) from record `at` on, of
// `records`.
struct StripPart {
  int64_t t0, tokens, at, records;
  int32_t rest;  // what the rounding left over, instead of the values
};

// A strip of T quantised records is [k / 32][T] records: 32 bytes q, f32 d, then what the accumulator starts
// from: for a zero point the int32 -(sum * zero) of each sub-block, for a min the f32 d * sum of each.
template <int kLayout>
constexpr int32_t record_bytes() {
  return layout_spec(kLayout).sub == 16 ? 44 : 40;
}

template <int kLayout>
void pack_strip(const Activations& x, const StripPart& part, uint8_t* out) {
  constexpr LayoutSpec s = layout_spec(kLayout);
  constexpr int32_t record = record_bytes<kLayout>();
  const int64_t blocks = x.k / kBlock;
  for (int64_t t = 0; t < part.tokens; ++t) {
    const int8_t* q = (part.rest ? x.rest_q : x.q) + (part.t0 + t) * x.ldq;
    const float* d = (part.rest ? x.rest_d : x.d) + (part.t0 + t) * x.ldb;
    const int32_t* sum = (part.rest ? x.rest_sum : x.sum) + (part.t0 + t) * 2 * x.ldb;
    uint8_t* to = out + (part.at + t) * record;
    for (int64_t b = 0; b < blocks; ++b, to += part.records * record) {
      __builtin_memcpy(to, q + b * kBlock, kBlock);
      __builtin_memcpy(to + 32, d + b, 4);
      const int32_t low = sum[2 * b], high = sum[2 * b + 1];
      if constexpr (s.sub == 32 && s.has_min()) {
        const float start = d[b] * static_cast<float>(low + high);
        __builtin_memcpy(to + 36, &start, 4);
      } else if constexpr (s.has_min()) {
        const float start[2] = {d[b] * static_cast<float>(low), d[b] * static_cast<float>(high)};
        __builtin_memcpy(to + 36, start, 8);
      } else if constexpr (s.sub == 32) {
        const int32_t start = -((low + high) * s.zero);
        __builtin_memcpy(to + 36, &start, 4);
      } else {
        const int32_t start[2] = {-(low * s.zero), -(high * s.zero)};
        __builtin_memcpy(to + 36, start, 8);
      }
    }
  }
}

// A strip of T float records is [k][T].
inline void pack_float_strip(const Activations& x, const StripPart& part, float* out) {
  for (int64_t t = 0; t < part.tokens; ++t) {
    const float* from = x.f + (part.t0 + t) * x.ldf;
    for (int64_t i = 0; i < x.k; ++i) out[i * part.records + part.at + t] = from[i];
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

// A strip of T records rounded to bf16 is [(k + 1) / 2][T] pairs of bf16.
inline void pack_bf16_strip(const Activations& x, const StripPart& part, uint32_t* out) {
  const bool rest = part.rest != 0;
  for (int64_t t = 0; t < part.tokens; ++t) {
    const float* from = x.f + (part.t0 + t) * x.ldf;
    uint32_t* to = out + part.at + t;
    int64_t i = 0;
    for (; i + 32 <= x.k; i += 32) {  // in two steps, so that the first becomes vectors
      uint32_t pairs[16];
      for (int j = 0; j < 16; ++j)
        pairs[j] = bf16_of(from[i + 2 * j], rest) >> 16 | bf16_of(from[i + 2 * j + 1], rest);
      for (int j = 0; j < 16; ++j, to += part.records) *to = pairs[j];
    }
    for (; i < x.k; i += 2, to += part.records) {
      *to = bf16_of(from[i], rest) >> 16;
      if (i + 1 < x.k) *to |= bf16_of(from[i + 1], rest);
    }
  }
}
inline int64_t bf16_strip_bytes(int64_t k) { return (k + 1) / 2 * 4; }

// How many records the next tile takes, at most `widest`; an even number when they are paired.
inline int64_t tile_records(int64_t left, int64_t widest, int64_t streams) {
  constexpr int32_t kSizes[] = {16, 12, 8, 6, 4, 3, 2, 1};
  for (const int32_t size : kSizes)
    if (size <= widest && size <= left && size % streams == 0) return size;
  return 1;
}

inline int64_t chunk_records(int64_t records, int64_t bytes_per_record, int64_t widest) {
  int64_t chunk = kStripBudget / bytes_per_record / widest * widest;
  if (chunk < kFewestRecords) chunk = kFewestRecords;
  return records < chunk ? records : chunk;
}

constexpr int64_t round64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// At the start of the scratch: whose strips are there. Then the strips of the whole call, or, when that is
// too much, of one chunk; a chunk's accumulators; and the panel of kernels that have one.
struct Kept {
  uint64_t stamp;
  int64_t layout;
};
struct ScratchPlan {
  int64_t chunk, strips, acc, panel, total;  // records of a chunk; offsets in bytes
  bool whole;
};
template <class Kernel>
ScratchPlan scratch_plan(int64_t records, int64_t k) {
  const int64_t each = Kernel::strip_bytes(k);
  ScratchPlan p;
  p.chunk = chunk_records(records, each, Kernel::kWidest);
  p.whole = records * each <= kKeptBudget;
  p.strips = 64;
  // Never less than fewer records would take: a scratch for many serves few.
  const int64_t region = p.whole                        ? records * each
                         : p.chunk * each < kKeptBudget ? kKeptBudget
                                                        : p.chunk * each;
  p.acc = p.strips + round64(region);
  p.panel = p.acc + p.chunk * kRows * 4;
  p.total = p.panel + Kernel::kPanelBytes;
  return p;
}
template <class Kernel>
int64_t strip_scratch(int64_t records, int64_t k) {
  return scratch_plan<Kernel>(records, k).total;
}

template <class Kernel>
void run_tile(int64_t records, const uint8_t* w, const uint8_t* strip, int64_t k, const TileOut& out) {
  switch (records) {
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
    if (records == 6) return Kernel::template tile<6>(w, strip, k, out);
  }
  if constexpr (Kernel::kWidest >= 8) {
    if (records == 8) return Kernel::template tile<8>(w, strip, k, out);
  }
  if constexpr (Kernel::kWidest >= 12) {
    if (records == 12) return Kernel::template tile<12>(w, strip, k, out);
  }
  if constexpr (Kernel::kWidest >= 16) {
    if (records == 16) return Kernel::template tile<16>(w, strip, k, out);
  }
}

// A chunk of tokens: how many records they make, and where their strips are.
struct Chunk {
  int64_t t0, records, streams;
  uint8_t* strips;
};

template <class Kernel>
void pack_chunk(const Activations& x, const Chunk& chunk) {
  const int64_t each = Kernel::strip_bytes(x.k);
  for (int64_t r = 0; r < chunk.records;) {
    const int64_t n = tile_records(chunk.records - r, Kernel::kWidest, chunk.streams);
    const int64_t tokens = n / chunk.streams;
    for (int64_t stream = 0; stream < chunk.streams; ++stream)
      Kernel::pack(x,
                   {chunk.t0 + r / chunk.streams, tokens, stream * tokens, n,
                    x.passes == kPassRest || stream == 1 ? 1 : 0},
                   chunk.strips + r * each);
    r += n;
  }
}

// One slice of k of one group against all strips of a chunk.
template <class Kernel>
void run_slice(const uint8_t* w, int64_t k0, int64_t slice, int64_t k, const Chunk& chunk, TileOut out) {
  float* acc = out.acc;
  float* y = out.y;
  for (int64_t r = 0; r < chunk.records;) {
    const int64_t n = tile_records(chunk.records - r, Kernel::kWidest, chunk.streams);
    out.acc = acc + r * kRows;
    out.y = y + r / chunk.streams * out.ldy;
    run_tile<Kernel>(n, w, chunk.strips + r * Kernel::strip_bytes(k) + n * Kernel::strip_bytes(k0), slice,
                     out);
    r += n;
  }
}

// All groups of the call against a chunk. A slice of a group stays in the first-level cache for all strips.
template <class Kernel>
void run_chunk(const MatmulArgs* a, const Chunk& chunk, float* acc, uint8_t* panel) {
  const int64_t k = a->k;
  const int64_t stride = group_bytes(Kernel::kLayout, k),
                slice_bytes = group_bytes(Kernel::kLayout, Kernel::kSlice);
  const bool few = chunk.records <= Kernel::kWidest;  // one strip: slices would not be used again
  const int64_t step = few ? k : Kernel::kSlice;
  for (int64_t g = a->group0; g < a->group1; ++g) {
    const int64_t row = g * kRows, rows = a->n - row < kRows ? a->n - row : kRows;
    const uint8_t* w = a->w + g * stride;
    for (int64_t k0 = 0; k0 < k; k0 += step, w += slice_bytes) {
      const int64_t slice = k - k0 < step ? k - k0 : step;
      const TileOut out = {acc,
                           k0 == 0,
                           k0 + slice == k,
                           a->y + chunk.t0 * a->ldy + row,
                           a->ldy,
                           a->bias ? a->bias + row : nullptr,
                           static_cast<int32_t>(rows),
                           a->accumulate,
                           chunk.streams == 2};
      if constexpr (Kernel::kPanelBytes > 0) {
        if (!few) {
          Kernel::unpack_panel(w, slice, panel);
          run_slice<typename Kernel::Panel>(panel, k0, slice, k, chunk, out);
          continue;
        }
      }
      run_slice<Kernel>(w, k0, slice, k, chunk, out);
    }
  }
}

// Chunks of tokens outermost: weights are read from memory once per chunk.
template <class Kernel>
void run_strips(const MatmulArgs* a) {
  const int64_t streams = a->x.passes == kPassBoth ? 2 : 1, records = a->x.m * streams;
  const ScratchPlan plan = scratch_plan<Kernel>(records, a->k);
  auto* kept = reinterpret_cast<Kept*>(a->scratch);
  const bool ready =
      a->x.stamp != 0 && plan.whole && kept->stamp == a->x.stamp && kept->layout == Kernel::kLayout;
  for (int64_t r = 0; r < records; r += plan.chunk) {
    const int64_t place = plan.whole ? r * Kernel::strip_bytes(a->k) : 0;
    const Chunk chunk = {r / streams, records - r < plan.chunk ? records - r : plan.chunk, streams,
                         a->scratch + plan.strips + place};
    if (!ready) pack_chunk<Kernel>(a->x, chunk);
    run_chunk<Kernel>(a, chunk, reinterpret_cast<float*>(a->scratch + plan.acc), a->scratch + plan.panel);
  }
  *kept = {plan.whole ? a->x.stamp : 0, Kernel::kLayout};
}

}  // namespace
}  // namespace ingle::kernels
