// 256 values in 176 bytes; per 32 of them d * sc * code - m * mn with 6-bit sc and mn.
#include "quant/block_format.h"
#include "quant/encode_k4.h"

namespace ingle::quant {
namespace {

using Codes = K4Codes<BlockQ5_K, 5>;

void encode(const float* x, const float* importance, BlockQ5_K& b) {
  K4Block k;
  encode_k4(x, weights_or_ones(importance), 31, k);
  store_u16(b.d, k.d);
  store_u16(b.m, k.m);
  pack_k4_scales(k.sc, k.mn, b.s);
  for (int j = 0; j < 4; ++j) pack_nibbles(k.codes + 64 * j, 32, b.q + 32 * j);
  for (int l = 0; l < 32; ++l) {
    int bits = 0;
    for (int j = 0; j < 8; ++j) bits |= (k.codes[32 * j + l] >> 4) << j;
    b.h[l] = static_cast<uint8_t>(bits);
  }
}

}  // namespace

constinit const QuantFormat kQ5_K = block_format<BlockQ5_K, 256, decode_codes<Codes>, encode>("q5_k", 13);
constinit const CodeFormat kQ5_KCodes = code_format<Codes>("q5_k");

}  // namespace ingle::quant
