// 256 values in 66 bytes: d * (code - 1), codes of 2 bits.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

void decode(const BlockTQ2_0& b, float* y) {
  const float d = load_half(b.d);
  uint8_t codes[256];
  unpack_crumbs(b.q, codes);
  for (int i = 0; i < 256; ++i) y[i] = d * static_cast<float>(codes[i] - 1);
}

}  // namespace

constinit const QuantFormat kTQ2_0 = block_format<BlockTQ2_0, 256, decode>("tq2_0", 35);

}  // namespace ingle::quant
