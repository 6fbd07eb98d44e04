// 256 values in 56 bytes; as IQ1_S with a scale per 16 and a shift per 8. d lies in the tops of the scale
// words.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

uint16_t unit_of(const BlockIQ1_M& b) {
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits |= static_cast<uint32_t>(load_u16(b.s + 2 * i)) >> 12 << (4 * i);
  return static_cast<uint16_t>(bits);
}
struct Codes : CodesBase {
  using Block = BlockIQ1_M;
  static constexpr int kElems = 256, kBits = 5, kSubBlock = 16, kZero = 9, kTableSize = 6;
  static constexpr bool kHasSubScales = true;
  static constexpr float kUnit = 0.125f;
  static constexpr const uint8_t* kTable = kIq1Codes;
  static int sub_scale(const Block& b, int j) {
    return 1 + 2 * (load_u16(b.s + 2 * (j / 4)) >> (3 * (j % 4)) & 7);
  }
  static void scales(const Block& b, float* scale, float*) {
    const float d = half_to_float(unit_of(b));
    for (int j = 0; j < 16; ++j) scale[j] = d * static_cast<float>(sub_scale(b, j)) * kUnit;
  }
  static void raw(const Block& b, RawScales out) {
    if (out.d) *out.d = unit_of(b);
    for (int j = 0; j < 16 && out.sc; ++j) out.sc[j] = static_cast<uint8_t>(sub_scale(b, j));
  }
  static void unpack(const BlockIQ1_M* b, uint8_t* codes) {
    for (int l = 0; l < 32; ++l) {
      const int field = b->qh[l / 2] >> (4 * (l % 2)) & 15;
      ternary8(kIq1Grid[b->q[l] | (field & 7) << 8], (field & 8) != 0, codes + 8 * l);
    }
  }
};

}  // namespace

constinit const QuantFormat kIQ1_M = block_format<BlockIQ1_M, 256, decode_codes<Codes>>("iq1_m", 29);
constinit const CodeFormat kIQ1_MCodes = code_format<Codes>("iq1_m");

}  // namespace ingle::quant
