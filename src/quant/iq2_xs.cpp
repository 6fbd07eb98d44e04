// 256 values in 74 bytes; per 16 of them a 4-bit scale and two entries of a grid of 8 values, with signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

void decode(const BlockIQ2_XS& b, float* y) {
  const float d = load_half(b.d);
  for (int l = 0; l < 32; ++l) {
    const uint32_t entry = load_u16(b.q + 2 * l);
    const float scale = d * (0.5f + static_cast<float>(b.s[l / 4] >> (4 * (l / 2 % 2)) & 15)) * 0.25f;
    write_signed8(kIq2XsGrid[entry & 511], even_signs(entry >> 9), scale, y + 8 * l);
  }
}

}  // namespace

constinit const QuantFormat kIQ2_XS = block_format<BlockIQ2_XS, 256, decode>("iq2_xs", 17);

}  // namespace ingle::quant
