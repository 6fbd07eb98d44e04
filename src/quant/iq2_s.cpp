// 256 values in 82 bytes; as IQ2_XS, with a larger grid and all eight signs.
#include "quant/block_format.h"
#include "quant/iq_grids.h"

namespace ingle::quant {
namespace {

struct Codes : ByteScaledCodes<Codes, BlockIQ2_S, 16> {
  static constexpr int kBits = 7, kZero = 43, kTableSize = 6;
  static constexpr float kUnit = 0.125f;
  static constexpr const uint8_t* kTable = kIq2Codes;
  static int sub_scale(const BlockIQ2_S& b, int j) { return 1 + 2 * (b.s[j / 2] >> (4 * (j % 2)) & 15); }
  static void unpack(const BlockIQ2_S* b, uint8_t* codes) {
    for (int l = 0; l < 32; ++l) {
      const int entry = b->q[l] | (b->qh[l / 4] >> (2 * (l % 4)) & 3) << 8;
      signed8(kIq2SGrid[entry], b->sign[l], codes + 8 * l);
    }
  }
};

}  // namespace

constinit const QuantFormat kIQ2_S = block_format<BlockIQ2_S, 256, decode_codes<Codes>>("iq2_s", 22);
constinit const CodeFormat kIQ2_SCodes = code_format<Codes>("iq2_s");

}  // namespace ingle::quant
