// 32 values in 18 bytes: d * (code - 8).
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

using Codes = LegacyCodes<BlockQ4_0, 4, 8, false>;

void encode(const float* x, const float* importance, BlockQ4_0& b) {
  const float d = fit_scale(x, weights_or_ones(importance), 32, -8, 7, ScaleType::f16);
  store_u16(b.d, half_scale(d));
  uint8_t codes[32];
  assign_codes(x, 32, d, 0, -8, 7, codes);
  pack_nibbles(codes, 16, b.q);
}

}  // namespace

constinit const QuantFormat kQ4_0 = block_format<BlockQ4_0, 32, decode_codes<Codes>, encode>("q4_0", 2);
constinit const CodeFormat kQ4_0Codes = code_format<Codes>("q4_0");

}  // namespace ingle::quant
