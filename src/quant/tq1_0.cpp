// 256 values in 54 bytes: d * (-1, 0 or 1), five base-3 digits a byte. A byte is the fraction of its number,
// so that the next digit is what a multiplication by 3 carries out of it.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

uint8_t* unpack_digits(const uint8_t* q, int n, int n_digits, uint8_t* codes) {
  int power = 1;
  for (int p = 0; p < n_digits; ++p, power *= 3) {
    for (int j = 0; j < n; ++j) {
      const int fraction = q[j] * power & 255;
      *codes++ = static_cast<uint8_t>(fraction * 3 >> 8);
    }
  }
  return codes;
}

struct Codes : UnitCodes<BlockTQ1_0, 256, 2, 1> {
  static void unpack(const BlockTQ1_0* b, uint8_t* codes) {
    codes = unpack_digits(b->q, 32, 5, codes);
    codes = unpack_digits(b->q + 32, 16, 5, codes);
    unpack_digits(b->qh, 4, 4, codes);
  }
};

}  // namespace

constinit const QuantFormat kTQ1_0 = block_format<BlockTQ1_0, 256, decode_codes<Codes>>("tq1_0", 34);
constinit const CodeFormat kTQ1_0Codes = code_format<Codes>("tq1_0");

}  // namespace ingle::quant
