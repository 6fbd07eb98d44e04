// 256 values in 66 bytes; per 32 of them a 4-bit scale and four entries of a grid of 8 values, with signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

void decode(const BlockIQ2_XXS& b, float* y) {
  const float d = load_half(b.d);
  for (int j = 0; j < 8; ++j) {
    const uint8_t* entries = b.q + 8 * j;
    const uint32_t a = load_u32(entries + 4);
    const float scale = d * (0.5f + static_cast<float>(a >> 28)) * 0.25f;
    for (int l = 0; l < 4; ++l) {
      write_signed8(kIq2XxsGrid[entries[l]], even_signs(a >> (7 * l)), scale, y + 32 * j + 8 * l);
    }
  }
}

}  // namespace

constinit const QuantFormat kIQ2_XXS = block_format<BlockIQ2_XXS, 256, decode>("iq2_xxs", 16);

}  // namespace ingle::quant
