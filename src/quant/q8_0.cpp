// 32 values in 34 bytes: d * int8. Encoded without -128, as the reference does.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

using Codes = LegacyCodes<BlockQ8_0, 8, 128, false>;

void encode(const float* x, const float* importance, BlockQ8_0& b) {
  const float d = fit_scale(x, weights_or_ones(importance), 32, -127, 127, ScaleType::f16);
  store_u16(b.d, half_scale(d));
  uint8_t codes[32];
  assign_codes(x, 32, d, 0, -127, 127, codes);
  for (int i = 0; i < 32; ++i) b.q[i] = static_cast<uint8_t>(codes[i] - 127);
}

}  // namespace

constinit const QuantFormat kQ8_0 = block_format<BlockQ8_0, 32, decode_codes<Codes>, encode>("q8_0", 8);
constinit const CodeFormat kQ8_0Codes = code_format<Codes>("q8_0");

}  // namespace ingle::quant
