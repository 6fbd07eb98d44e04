// 256 values in 136 bytes; per 32 of them d * (6-bit scale - 32) * one of 16 uneven steps.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

struct Codes : ByteScaledCodes<Codes, BlockIQ4_XS, 32> {
  static constexpr int kBits = 8, kZero = 128, kTableSize = 16;
  static constexpr const uint8_t* kTable = kIq4Codes;
  static int sub_scale(const BlockIQ4_XS& b, int j) {
    return ((b.sl[j / 2] >> (4 * (j % 2)) & 15) | (load_u16(b.sh) >> (2 * j) & 3) << 4) - 32;
  }
  static void unpack(const BlockIQ4_XS* b, uint8_t* codes) {
    for (int j = 0; j < 8; ++j) unpack_nibbles(b->q + 16 * j, 16, codes + 32 * j);
    for (int i = 0; i < 256; ++i) codes[i] = kIq4Codes[codes[i]];
  }
};

}  // namespace

constinit const QuantFormat kIQ4_XS = block_format<BlockIQ4_XS, 256, decode_codes<Codes>>("iq4_xs", 23);
constinit const CodeFormat kIQ4_XSCodes = code_format<Codes>("iq4_xs");

}  // namespace ingle::quant
