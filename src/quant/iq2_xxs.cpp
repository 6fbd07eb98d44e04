// 256 values in 66 bytes; per 32 of them a 4-bit scale and four entries of a grid of 8 values, with signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

struct Codes : ByteScaledCodes<Codes, BlockIQ2_XXS, 32> {
  static constexpr int kBits = 7, kZero = 43, kTableSize = 6;
  static constexpr float kUnit = 0.125f;
  static constexpr const uint8_t* kTable = kIq2Codes;
  static int sub_scale(const BlockIQ2_XXS& b, int j) {
    return 1 + 2 * static_cast<int>(load_u32(b.q + 8 * j + 4) >> 28);
  }
  static void unpack(const BlockIQ2_XXS* b, uint8_t* codes) {
    for (int l = 0; l < 32; ++l) {
      const uint8_t* entries = b->q + 8 * (l / 4);
      signed8(kIq2XxsGrid[entries[l % 4]], even_signs(load_u32(entries + 4) >> (7 * (l % 4))), codes + 8 * l);
    }
  }
};

}  // namespace

constinit const QuantFormat kIQ2_XXS = block_format<BlockIQ2_XXS, 256, decode_codes<Codes>>("iq2_xxs", 16);
constinit const CodeFormat kIQ2_XXSCodes = code_format<Codes>("iq2_xxs");

}  // namespace ingle::quant
