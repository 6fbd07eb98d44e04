// 256 values in 98 bytes; per 32 of them a 4-bit scale and eight entries of a grid of 4 values, with signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

void decode(const BlockIQ3_XXS& b, float* y) {
  const float d = load_half(b.d);
  for (int l = 0; l < 32; ++l) {
    const uint32_t a = load_u32(b.a + 4 * (l / 4));
    const float scale = d * (0.5f + static_cast<float>(a >> 28)) * 0.5f;
    const uint32_t signs = even_signs(a >> (7 * (l % 4)));
    write_signed4<8, 4>(kIq3XxsGrid[b.q[2 * l]], signs, scale, y + 8 * l);
    write_signed4<8, 4>(kIq3XxsGrid[b.q[2 * l + 1]], signs >> 4, scale, y + 8 * l + 4);
  }
}

}  // namespace

constinit const QuantFormat kIQ3_XXS = block_format<BlockIQ3_XXS, 256, decode>("iq3_xxs", 18);

}  // namespace ingle::quant
