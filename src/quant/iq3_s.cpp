// 256 values in 110 bytes; per 32 of them a 4-bit scale and eight entries of a grid of 4 values, with signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

void decode(const BlockIQ3_S& b, float* y) {
  const float d = load_half(b.d);
  for (int l = 0; l < 64; ++l) {
    const int entry = b.q[l] | (b.qh[l / 8] >> (l % 8) & 1) << 8;
    const float scale = d * static_cast<float>(1 + 2 * (b.s[l / 16] >> (4 * (l / 8 % 2)) & 15));
    write_signed4<2, 1>(kIq3SGrid[entry], b.sign[l / 2] >> (4 * (l % 2)), scale, y + 4 * l);
  }
}

}  // namespace

constinit const QuantFormat kIQ3_S = block_format<BlockIQ3_S, 256, decode>("iq3_s", 21);

}  // namespace ingle::quant
