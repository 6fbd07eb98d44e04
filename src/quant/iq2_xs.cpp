// 256 values in 74 bytes; per 16 of them a 4-bit scale and two entries of a grid of 8 values, with signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

struct Codes : ByteScaledCodes<Codes, BlockIQ2_XS, 16> {
  static constexpr int kBits = 7, kZero = 43, kTableSize = 6;
  static constexpr float kUnit = 0.125f;
  static constexpr const uint8_t* kTable = kIq2Codes;
  static int sub_scale(const BlockIQ2_XS& b, int j) { return 1 + 2 * (b.s[j / 2] >> (4 * (j % 2)) & 15); }
  static void unpack(const BlockIQ2_XS* b, uint8_t* codes) {
    for (int l = 0; l < 32; ++l) {
      const uint32_t entry = load_u16(b->q + 2 * l);
      signed8(kIq2XsGrid[entry & 511], even_signs(entry >> 9), codes + 8 * l);
    }
  }
};

}  // namespace

constinit const QuantFormat kIQ2_XS = block_format<BlockIQ2_XS, 256, decode_codes<Codes>>("iq2_xs", 17);
constinit const CodeFormat kIQ2_XSCodes = code_format<Codes>("iq2_xs");

}  // namespace ingle::quant
