// 256 values in 56 bytes; as IQ1_S with a scale per 16 and a shift per 8. d lies in the tops of the scale
// words.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

void decode(const BlockIQ1_M& b, float* y) {
  uint32_t words[4], bits = 0;
  for (int i = 0; i < 4; ++i) {
    words[i] = load_u16(b.s + 2 * i);
    bits |= words[i] >> 12 << (4 * i);
  }
  const float d = half_to_float(static_cast<uint16_t>(bits));
  for (int l = 0; l < 32; ++l) {
    const float scale = d * static_cast<float>(2 * (words[l / 8] >> (3 * (l / 2 % 4)) & 7) + 1);
    const int field = b.qh[l / 2] >> (4 * (l % 2)) & 15;
    const float shift = field & 8 ? -0.125f : 0.125f;
    write_ternary8(kIq1Grid[b.q[l] | (field & 7) << 8], shift, scale, y + 8 * l);
  }
}

}  // namespace

constinit const QuantFormat kIQ1_M = block_format<BlockIQ1_M, 256, decode>("iq1_m", 29);

}  // namespace ingle::quant
