// 32 values in 24 bytes: d * code + m.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

using Codes = LegacyCodes<BlockQ5_1, 5, 0, true>;

void encode(const float* x, const float* importance, BlockQ5_1& b) {
  const Affine a = fit_affine(x, weights_or_ones(importance), 32, 31, ScaleType::f16, false);
  store_u16(b.d, half_scale(a.scale));
  store_u16(b.m, half_scale(a.min));
  uint8_t codes[32];
  assign_codes(x, 32, a.scale, a.min, 0, 31, codes);
  pack_nibbles(codes, 16, b.q);
  store_u32(b.h, take_fifth_bits(codes));
}

}  // namespace

constinit const QuantFormat kQ5_1 = block_format<BlockQ5_1, 32, decode_codes<Codes>, encode>("q5_1", 7);
constinit const CodeFormat kQ5_1Codes = code_format<Codes>("q5_1");

}  // namespace ingle::quant
