// 32 values in 18 bytes: d times one of 16 uneven steps.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

struct Codes : UnitCodes<BlockIQ4_NL, 32, 8, 128> {
  static constexpr const uint8_t* kTable = kIq4Codes;
  static constexpr int kTableSize = 16;
  static void unpack(const BlockIQ4_NL* b, uint8_t* codes) {
    unpack_nibbles(b->q, 16, codes);
    for (int i = 0; i < 32; ++i) codes[i] = kIq4Codes[codes[i]];
  }
};

}  // namespace

constinit const QuantFormat kIQ4_NL = block_format<BlockIQ4_NL, 32, decode_codes<Codes>>("iq4_nl", 20);
constinit const CodeFormat kIQ4_NLCodes = code_format<Codes>("iq4_nl");

}  // namespace ingle::quant
