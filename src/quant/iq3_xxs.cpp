// 256 values in 98 bytes; per 32 of them a 4-bit scale and eight entries of a grid of 4 values, with signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

struct Codes : ByteScaledCodes<Codes, BlockIQ3_XXS, 32> {
  static constexpr int kBits = 7, kZero = 62, kTableSize = 16;
  static constexpr float kUnit = 0.25f;
  static constexpr const uint8_t* kTable = kIq3XxsCodes;
  static int sub_scale(const BlockIQ3_XXS& b, int j) {
    return 1 + 2 * static_cast<int>(load_u32(b.a + 4 * j) >> 28);
  }
  static void unpack(const BlockIQ3_XXS* b, uint8_t* codes) {
    for (int l = 0; l < 32; ++l) {
      const uint32_t signs = even_signs(load_u32(b->a + 4 * (l / 4)) >> (7 * (l % 4)));
      signed4<8, 4, 62>(kIq3XxsGrid[b->q[2 * l]], signs, codes + 8 * l);
      signed4<8, 4, 62>(kIq3XxsGrid[b->q[2 * l + 1]], signs >> 4, codes + 8 * l + 4);
    }
  }
};

}  // namespace

constinit const QuantFormat kIQ3_XXS = block_format<BlockIQ3_XXS, 256, decode_codes<Codes>>("iq3_xxs", 18);
constinit const CodeFormat kIQ3_XXSCodes = code_format<Codes>("iq3_xxs");

}  // namespace ingle::quant
