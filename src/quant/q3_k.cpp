// 256 values in 110 bytes; per 16 of them d * (sc - 32) * (code - 4), codes of 2 bits and one more.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

void decode(const BlockQ3_K& b, float* y) {
  const float d = load_half(b.d);
  uint8_t codes[256];
  unpack_crumbs(b.q, codes);
  for (int j = 0; j < 16; ++j) {
    const int low = b.s[j % 8] >> (4 * (j / 8)) & 15, high = b.s[8 + j % 4] >> (2 * (j / 4)) & 3;
    const float scale = d * static_cast<float>((low | high << 4) - 32);
    for (int i = 16 * j; i < 16 * j + 16; ++i) {
      const int third = b.hm[i % 32] >> (i / 32) & 1;
      y[i] = scale * static_cast<float>((codes[i] | third << 2) - 4);
    }
  }
}

}  // namespace

constinit const QuantFormat kQ3_K = block_format<BlockQ3_K, 256, decode>("q3_k", 11);

}  // namespace ingle::quant
