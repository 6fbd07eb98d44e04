// 32 values in 22 bytes: d * (code - 16).
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

using Codes = LegacyCodes<BlockQ5_0, 5, 16, false>;

void encode(const float* x, const float* importance, BlockQ5_0& b) {
  const float d = fit_scale(x, weights_or_ones(importance), 32, -16, 15, ScaleType::f16);
  store_u16(b.d, half_scale(d));
  uint8_t codes[32];
  assign_codes(x, 32, d, 0, -16, 15, codes);
  pack_nibbles(codes, 16, b.q);
  store_u32(b.h, take_fifth_bits(codes));
}

}  // namespace

constinit const QuantFormat kQ5_0 = block_format<BlockQ5_0, 32, decode_codes<Codes>, encode>("q5_0", 6);
constinit const CodeFormat kQ5_0Codes = code_format<Codes>("q5_0");

}  // namespace ingle::quant
