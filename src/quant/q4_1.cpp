// 32 values in 20 bytes: d * code + m.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

using Codes = LegacyCodes<BlockQ4_1, 4, 0, true>;

void encode(const float* x, const float* importance, BlockQ4_1& b) {
  const Affine a = fit_affine(x, weights_or_ones(importance), 32, 15, ScaleType::f16, false);
  store_u16(b.d, half_scale(a.scale));
  store_u16(b.m, half_scale(a.min));
  uint8_t codes[32];
  assign_codes(x, 32, a.scale, a.min, 0, 15, codes);
  pack_nibbles(codes, 16, b.q);
}

}  // namespace

constinit const QuantFormat kQ4_1 = block_format<BlockQ4_1, 32, decode_codes<Codes>, encode>("q4_1", 3);
constinit const CodeFormat kQ4_1Codes = code_format<Codes>("q4_1");

}  // namespace ingle::quant
