// 256 values in 110 bytes; per 32 of them a 4-bit scale and eight entries of a grid of 4 values, with signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

struct Codes : ByteScaledCodes<Codes, BlockIQ3_S, 32> {
  static constexpr int kBits = 5, kZero = 15, kTableSize = 16;
  static constexpr float kUnit = 1;
  static constexpr const uint8_t* kTable = kIq3SCodes;
  static int sub_scale(const BlockIQ3_S& b, int j) { return 1 + 2 * (b.s[j / 2] >> (4 * (j % 2)) & 15); }
  static void unpack(const BlockIQ3_S* b, uint8_t* codes) {
    for (int l = 0; l < 64; ++l) {
      const int entry = b->q[l] | (b->qh[l / 8] >> (l % 8) & 1) << 8;
      signed4<2, 1, 15>(kIq3SGrid[entry], b->sign[l / 2] >> (4 * (l % 2)), codes + 4 * l);
    }
  }
};

}  // namespace

constinit const QuantFormat kIQ3_S = block_format<BlockIQ3_S, 256, decode_codes<Codes>>("iq3_s", 21);
constinit const CodeFormat kIQ3_SCodes = code_format<Codes>("iq3_s");

}  // namespace ingle::quant
