// 256 values in 50 bytes; per 32 of them a 3-bit scale, a shift of 1/8 up or down, and four entries of a
// grid.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

struct Codes : ByteScaledCodes<Codes, BlockIQ1_S, 32> {
  static constexpr int kBits = 5, kZero = 9, kTableSize = 6;
  static constexpr float kUnit = 0.125f;
  static constexpr const uint8_t* kTable = kIq1Codes;
  static int sub_scale(const BlockIQ1_S& b, int j) { return 1 + 2 * (load_u16(b.h + 2 * j) >> 12 & 7); }
  static void unpack(const BlockIQ1_S* b, uint8_t* codes) {
    for (int l = 0; l < 32; ++l) {
      const int h = load_u16(b->h + 2 * (l / 4));
      ternary8(kIq1Grid[b->q[l] | (h >> (3 * (l % 4)) & 7) << 8], (h & 0x8000) != 0, codes + 8 * l);
    }
  }
};

}  // namespace

constinit const QuantFormat kIQ1_S = block_format<BlockIQ1_S, 256, decode_codes<Codes>>("iq1_s", 19);
constinit const CodeFormat kIQ1_SCodes = code_format<Codes>("iq1_s");

}  // namespace ingle::quant
