// 256 values in 84 bytes; per 16 of them d * (s & 15) * code - m * (s >> 4), codes of 2 bits.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

void decode(const BlockQ2_K& b, float* y) {
  const float d = load_half(b.d), m = load_half(b.m);
  uint8_t codes[256];
  unpack_crumbs(b.q, codes);
  for (int j = 0; j < 16; ++j) {
    const float scale = d * static_cast<float>(b.s[j] & 15), min = m * static_cast<float>(b.s[j] >> 4);
    for (int i = 16 * j; i < 16 * j + 16; ++i) y[i] = scale * codes[i] - min;
  }
}

}  // namespace

constinit const QuantFormat kQ2_K = block_format<BlockQ2_K, 256, decode>("q2_k", 10);

}  // namespace ingle::quant
