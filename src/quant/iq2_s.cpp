// 256 values in 82 bytes; as IQ2_XS, with a larger grid and all eight signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

void decode(const BlockIQ2_S& b, float* y) {
  const float d = load_half(b.d);
  for (int l = 0; l < 32; ++l) {
    const int entry = b.q[l] | (b.qh[l / 4] >> (2 * (l % 4)) & 3) << 8;
    const float scale = d * (0.5f + static_cast<float>(b.s[l / 4] >> (4 * (l / 2 % 2)) & 15)) * 0.25f;
    write_signed8(kIq2SGrid[entry], b.sign[l], scale, y + 8 * l);
  }
}

}  // namespace

constinit const QuantFormat kIQ2_S = block_format<BlockIQ2_S, 256, decode>("iq2_s", 22);

}  // namespace ingle::quant
