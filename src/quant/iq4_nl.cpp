// 32 values in 18 bytes: d times one of 16 uneven steps.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

void decode(const BlockIQ4_NL& b, float* y) {
  const float d = load_half(b.d);
  uint8_t codes[32];
  unpack_nibbles(b.q, 16, codes);
  for (int i = 0; i < 32; ++i) y[i] = d * kIq4Values[codes[i]];
}

}  // namespace

constinit const QuantFormat kIQ4_NL = block_format<BlockIQ4_NL, 32, decode>("iq4_nl", 20);

}  // namespace ingle::quant
