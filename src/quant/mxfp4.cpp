// 32 values in 17 bytes: 2^(e - 127) * FP4. Code 8, minus zero, decodes to plus zero, as in the reference.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

void decode(const BlockMXFP4& b, float* y) {
  const float half = e8m0_to_float(b.e) * 0.5f;
  uint8_t codes[32];
  unpack_nibbles(b.q, 16, codes);
  for (int i = 0; i < 32; ++i) y[i] = half * kFp4Doubled[codes[i]];
}

}  // namespace

constinit const QuantFormat kMXFP4 = block_format<BlockMXFP4, 32, decode>("mxfp4", 39);

}  // namespace ingle::quant
