// 256 values in 210 bytes; per 16 of them d * sc * (code - 32) with an int8 sc.
#include <algorithm>
#include <cmath>

#include "quant/block_format.h"

namespace ingle::quant {
namespace {

struct Codes : CodesBase {
  using Block = BlockQ6_K;
  static constexpr int kElems = 256, kBits = 6, kSubBlock = 16, kZero = 32;
  static constexpr bool kHasMin = false, kHasSubScales = true;
  static void scales(const Block& b, float* scale, float*) {
    const float d = load_half(b.d);
    for (int j = 0; j < 16; ++j) scale[j] = d * static_cast<float>(static_cast<int8_t>(b.s[j]));
  }
  static void raw(const Block& b, RawScales out) {
    if (out.d) *out.d = load_u16(b.d);
    for (int j = 0; j < 16 && out.sc; ++j) out.sc[j] = b.s[j];
  }
};

// The int8 scale beside the rounded one that codes these 16 values best.
int choose_scale(const float* x, const float* w, float d, float fit) {
  const int rounded = nearest_code(fit, inverse(d), -128, 127);
  int best = rounded;
  float best_error = coding_error(x, w, 16, {d * static_cast<float>(rounded), 0}, -32, 31);
  for (const int s : {rounded - 1, rounded + 1}) {
    if (s < -128 || s > 127) continue;
    const float error = coding_error(x, w, 16, {d * static_cast<float>(s), 0}, -32, 31);
    if (!(error < best_error)) continue;
    best = s, best_error = error;
  }
  return best;
}

void pack(const uint8_t* codes, BlockQ6_K& b) {
  for (int h = 0; h < 2; ++h) {
    const uint8_t* c = codes + 128 * h;
    for (int l = 0; l < 32; ++l) {
      b.ql[64 * h + l] = static_cast<uint8_t>((c[l] & 15) | (c[64 + l] & 15) << 4);
      b.ql[64 * h + 32 + l] = static_cast<uint8_t>((c[32 + l] & 15) | (c[96 + l] & 15) << 4);
      b.qh[32 * h + l] =
          static_cast<uint8_t>(c[l] >> 4 | c[32 + l] >> 4 << 2 | c[64 + l] >> 4 << 4 | c[96 + l] >> 4 << 6);
    }
  }
}

void encode(const float* x, const float* importance, BlockQ6_K& b) {
  const float* w = weights_or_ones(importance);
  float fits[16], peak = 0;
  for (int j = 0; j < 16; ++j) {
    fits[j] = fit_scale(x + 16 * j, w + 16 * j, 16, -32, 31, ScaleType::f32);
    if (std::fabs(fits[j]) > std::fabs(peak)) peak = fits[j];
  }
  const uint16_t unit = half_scale(peak / -128);  // -128 is the longer side of an int8
  const float d = half_to_float(unit);
  uint8_t codes[256];
  for (int j = 0; j < 16; ++j) {
    const int s = choose_scale(x + 16 * j, w + 16 * j, d, fits[j]);
    b.s[j] = static_cast<uint8_t>(s);
    assign_codes(x + 16 * j, 16, d * static_cast<float>(s), 0, -32, 31, codes + 16 * j);
  }
  store_u16(b.d, unit);
  pack(codes, b);
}

}  // namespace

constinit const QuantFormat kQ6_K = block_format<BlockQ6_K, 256, decode_codes<Codes>, encode>("q6_k", 14);
constinit const CodeFormat kQ6_KCodes = code_format<Codes>("q6_k");

}  // namespace ingle::quant
