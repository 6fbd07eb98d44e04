// 128 values in 18 bytes: plus or minus d.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

void decode(const BlockQ1_0& b, float* y) {
  const float d = load_half(b.d);
  for (int i = 0; i < 128; ++i) y[i] = b.q[i / 8] >> (i % 8) & 1 ? d : -d;
}

}  // namespace

constinit const QuantFormat kQ1_0 = block_format<BlockQ1_0, 128, decode>("q1_0", 41);

}  // namespace ingle::quant
