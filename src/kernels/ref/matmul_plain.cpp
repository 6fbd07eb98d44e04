// The packed layouts in plain C++: what runs where no ISA unit can, with the same bits.
#include <cstdint>
#include <iterator>

#include "kernels/block_read.h"
#include "kernels/code_rows.h"
#include "kernels/isa.h"
#include "kernels/layout.h"
#include "kernels/ref/bf16_pair.h"
#include "kernels/strips.h"
#include "kernels/units.h"
#include "quant/blocks.h"

namespace ingle::kernels {
namespace {

uint16_t read16(const uint8_t* p) {
  uint16_t v;
  __builtin_memcpy(&v, p, 2);
  return v;
}
template <class T>
T read(const uint8_t* p) {
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

void start(const TileOut& out, int64_t t, float* acc) {
  for (int r = 0; r < kRows; ++r) acc[r] = out.first ? 0.0f : out.acc[t * kRows + r];
}
template <int kTokens>
void finish(const TileOut& out, const float (&acc)[kTokens][kRows]) {
  const int64_t tokens = out.paired ? kTokens / 2 : kTokens;
  for (int64_t t = 0; t < (out.last ? tokens : kTokens); ++t) {
    float* y = out.last ? out.y + t * out.ldy : out.acc + t * kRows;
    for (int r = 0; r < (out.last ? out.rows : kRows); ++r) {
      float value = acc[t][r];
      if (out.last && out.bias) value += out.bias[r];
      if (out.last && out.accumulate) value += y[r];
      if (out.last && out.paired) value += acc[t + tokens][r];
      y[r] = value;
    }
  }
}

template <int kId>
struct Plain {
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = 4;
  static constexpr int64_t kSlice = 1024;
  static constexpr int64_t kPanelBytes = 0;
  static constexpr LayoutSpec kSpec = layout_spec(kId);
  static constexpr int32_t kRecord = record_bytes<kId>();
  static constexpr bool kHasMin = kSpec.has_min();

  static int64_t strip_bytes(int64_t k) { return k / kBlock * kRecord; }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_strip<kId>(x, part, out);
  }

  static void apply(const uint8_t* u, const uint8_t* a, const BlockScales (&scales)[kRows], float* acc) {
    const float d = read<float>(a + 32);
    const auto* q = reinterpret_cast<const int8_t*>(a);
    constexpr int kSubs = kBlock / kSpec.sub, kGroups = 8 / kSubs;
    for (int h = 0; h < kSubs; ++h)
      for (int r = 0; r < kRows; ++r) {
        int32_t dot = kHasMin ? 0 : read<int32_t>(a + 36 + 4 * h);
        for (int j = h * kGroups; j < (h + 1) * kGroups; ++j)
          for (int i = 0; i < 4; ++i) dot += u[64 * j + 4 * r + i] * q[4 * j + i];
        acc[r] = __builtin_fmaf(static_cast<float>(dot), scales[r].scale[h] * d, acc[r]);
        if constexpr (kHasMin) acc[r] = __builtin_fmaf(scales[r].min[h], read<float>(a + 36 + 4 * h), acc[r]);
      }
  }

  template <int kTokens>
  static void tile(const uint8_t* w, const uint8_t* strip, int64_t k, const TileOut& out) {
    float acc[kTokens][kRows];
    for (int t = 0; t < kTokens; ++t) start(out, t, acc[t]);
    uint8_t u[512];
    BlockScales scales[kRows];
    for (int64_t b = 0; b < k / kBlock; ++b) {
      const BlockPlace place = block_place(kSpec, b);
      for (int i = 0; i < 512; ++i) u[i] = read_code<kId>(w + place.codes, i / 64, i % 64);
      for (int r = 0; r < kRows; ++r)
        scales[r] = read_block_scales<kId>(w + place.scales, w + place.super, r);
      for (int t = 0; t < kTokens; ++t, strip += kRecord) apply(u, strip, scales, acc[t]);
    }
    finish<kTokens>(out, acc);
  }
};

template <int kId>
struct PlainFloat {
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = 4;
  static constexpr int64_t kSlice = 1024;
  static constexpr int64_t kPanelBytes = 0;
  static int64_t strip_bytes(int64_t k) { return k * 4; }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_float_strip(x, part, reinterpret_cast<float*>(out));
  }
  static float weight(const uint8_t* w, int64_t i) {
    if constexpr (kId == kLayoutF32) return read<float>(w + 4 * i);
    return quant::half_to_float(read16(w + 2 * i));
  }
  template <int kTokens>
  static void tile(const uint8_t* w, const uint8_t* strip, int64_t k, const TileOut& out) {
    float acc[kTokens][kRows];
    for (int t = 0; t < kTokens; ++t) start(out, t, acc[t]);
    for (int64_t i = 0; i < k; ++i)
      for (int r = 0; r < kRows; ++r) {
        const float value = weight(w, i * kRows + r);
        for (int t = 0; t < kTokens; ++t)
          acc[t][r] = __builtin_fmaf(value, read<float>(strip + 4 * (i * kTokens + t)), acc[t][r]);
      }
    finish<kTokens>(out, acc);
  }
};

struct PlainBf16 {
  static constexpr int32_t kLayout = kLayoutBf16Pairs;
  static constexpr int64_t kWidest = 4;
  static constexpr int64_t kSlice = 1024;
  static constexpr int64_t kPanelBytes = 0;
  static int64_t strip_bytes(int64_t k) { return bf16_strip_bytes(k); }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_bf16_strip(x, part, reinterpret_cast<uint32_t*>(out));
  }
  template <int kTokens>
  static void tile(const uint8_t* w, const uint8_t* strip, int64_t k, const TileOut& out) {
    float acc[kTokens][kRows];
    for (int t = 0; t < kTokens; ++t) start(out, t, acc[t]);
    for (int64_t i = 0; i < (k + 1) / 2; ++i, w += 4 * kRows)
      for (int t = 0; t < kTokens; ++t, strip += 4)
        for (int r = 0; r < kRows; ++r)
          acc[t][r] = bf16_pair_fma(read<uint32_t>(w + 4 * r), read<uint32_t>(strip), acc[t][r]);
    finish<kTokens>(out, acc);
  }
};

#define INGLE_Q8(name, layout)                                                            \
  {name "_q8_gemm_plain_r16",   "plain", name, layout, kActQ8, run_strips<Plain<layout>>, \
   strip_scratch<Plain<layout>>},
#define INGLE_F32(name, layout)                                                                 \
  {                                                                                             \
    name "_f32_gemm_plain_r16", "plain", name, layout, kActF32, run_strips<PlainFloat<layout>>, \
        strip_scratch<PlainFloat<layout>>                                                       \
  }
constexpr MatmulRow kMatmulRows[] = {
    INGLE_CODE_ROWS(INGLE_Q8) INGLE_F32("f32", kLayoutF32),
    INGLE_F32("f16", kLayoutF16),
    {"bf16_bf16_gemm_plain_r16", "plain", "bf16", kLayoutBf16Pairs, kActBf16, run_strips<PlainBf16>,
     strip_scratch<PlainBf16>},
};
#undef INGLE_Q8
#undef INGLE_F32

}  // namespace

extern "C" const MatmulUnit ingle_matmul_plain = {kMatmulRows, static_cast<int32_t>(std::size(kMatmulRows))};

}  // namespace ingle::kernels
