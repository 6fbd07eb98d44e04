// 256 values in 50 bytes; per 32 of them a 3-bit scale, a shift of 1/8 up or down, and four entries of a
// grid.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

void decode(const BlockIQ1_S& b, float* y) {
  const float d = load_half(b.d);
  for (int l = 0; l < 32; ++l) {
    const int h = load_u16(b.h + 2 * (l / 4));
    const float scale = d * static_cast<float>(2 * (h >> 12 & 7) + 1);
    const float shift = h & 0x8000 ? -0.125f : 0.125f;
    write_ternary8(kIq1Grid[b.q[l] | (h >> (3 * (l % 4)) & 7) << 8], shift, scale, y + 8 * l);
  }
}

}  // namespace

constinit const QuantFormat kIQ1_S = block_format<BlockIQ1_S, 256, decode>("iq1_s", 19);

}  // namespace ingle::quant
