// 64 values in 18 bytes: d * (code - 1), four codes a byte.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

struct Codes : UnitCodes<BlockQ2_0, 64, 2, 1> {
  static void unpack(const BlockQ2_0* b, uint8_t* codes) {
    for (int i = 0; i < 64; ++i) codes[i] = b->q[i / 4] >> (2 * (i % 4)) & 3;
  }
};

}  // namespace

constinit const QuantFormat kQ2_0 = block_format<BlockQ2_0, 64, decode_codes<Codes>>("q2_0", 42);
constinit const CodeFormat kQ2_0Codes = code_format<Codes>("q2_0");

}  // namespace ingle::quant
