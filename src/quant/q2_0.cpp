// 64 values in 18 bytes: d * (code - 1), four codes a byte.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

void decode(const BlockQ2_0& b, float* y) {
  const float d = load_half(b.d);
  for (int i = 0; i < 64; ++i) y[i] = d * static_cast<float>((b.q[i / 4] >> (2 * (i % 4)) & 3) - 1);
}

}  // namespace

constinit const QuantFormat kQ2_0 = block_format<BlockQ2_0, 64, decode>("q2_0", 42);

}  // namespace ingle::quant
