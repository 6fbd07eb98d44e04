// 128 values in 18 bytes: plus or minus d.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

struct Codes : UnitCodes<BlockQ1_0, 128, 2, 1> {
  static void unpack(const BlockQ1_0* b, uint8_t* codes) {
    for (int i = 0; i < 128; ++i) codes[i] = b->q[i / 8] >> (i % 8) & 1 ? 2 : 0;
  }
};

}  // namespace

constinit const QuantFormat kQ1_0 = block_format<BlockQ1_0, 128, decode_codes<Codes>>("q1_0", 41);
constinit const CodeFormat kQ1_0Codes = code_format<Codes>("q1_0");

}  // namespace ingle::quant
