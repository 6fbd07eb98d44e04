// 256 values in 136 bytes; per 32 of them d * (6-bit scale - 32) * one of 16 uneven steps.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

void decode(const BlockIQ4_XS& b, float* y) {
  const float d = load_half(b.d);
  const int high = load_u16(b.sh);
  for (int j = 0; j < 8; ++j) {
    const int scale6 = (b.sl[j / 2] >> (4 * (j % 2)) & 15) | (high >> (2 * j) & 3) << 4;
    const float scale = d * static_cast<float>(scale6 - 32);
    uint8_t codes[32];
    unpack_nibbles(b.q + 16 * j, 16, codes);
    for (int i = 0; i < 32; ++i) y[32 * j + i] = scale * kIq4Values[codes[i]];
  }
}

}  // namespace

constinit const QuantFormat kIQ4_XS = block_format<BlockIQ4_XS, 256, decode>("iq4_xs", 23);

}  // namespace ingle::quant
