// 256 values in 54 bytes: d * (-1, 0 or 1), five base-3 digits a byte. A byte is the fraction of its number,
// so that the next digit is what a multiplication by 3 carries out of it.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

float* decode_digits(const uint8_t* q, int n, int n_digits, float d, float* y) {
  int power = 1;
  for (int p = 0; p < n_digits; ++p, power *= 3) {
    for (int j = 0; j < n; ++j) {
      const int fraction = q[j] * power & 255;
      *y++ = d * static_cast<float>((fraction * 3 >> 8) - 1);
    }
  }
  return y;
}

void decode(const BlockTQ1_0& b, float* y) {
  const float d = load_half(b.d);
  y = decode_digits(b.q, 32, 5, d, y);
  y = decode_digits(b.q + 32, 16, 5, d, y);
  decode_digits(b.qh, 4, 4, d, y);
}

}  // namespace

constinit const QuantFormat kTQ1_0 = block_format<BlockTQ1_0, 256, decode>("tq1_0", 34);

}  // namespace ingle::quant
