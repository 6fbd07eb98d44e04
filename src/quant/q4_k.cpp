// 256 values in 144 bytes; per 32 of them d * sc * code - m * mn with 6-bit sc and mn.
#include "quant/block_format.h"
#include "quant/encode_k4.h"

namespace ingle::quant {
namespace {

using Codes = K4Codes<BlockQ4_K, 4>;

void encode(const float* x, const float* importance, BlockQ4_K& b) {
  K4Block k;
  encode_k4(x, weights_or_ones(importance), 15, k);
  store_u16(b.d, k.d);
  store_u16(b.m, k.m);
  pack_k4_scales(k.sc, k.mn, b.s);
  for (int j = 0; j < 4; ++j) pack_nibbles(k.codes + 64 * j, 32, b.q + 32 * j);
}

}  // namespace

constinit const QuantFormat kQ4_K = block_format<BlockQ4_K, 256, decode_codes<Codes>, encode>("q4_k", 12);
constinit const CodeFormat kQ4_KCodes = code_format<Codes>("q4_k");

}  // namespace ingle::quant
