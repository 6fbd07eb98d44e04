// 256 values in 110 bytes; per 16 of them d * (sc - 32) * (code - 4), codes of 2 bits and one more.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

struct Codes : ByteScaledCodes<Codes, BlockQ3_K, 16> {
  static constexpr int kBits = 3, kZero = 4;
  static int sub_scale(const BlockQ3_K& b, int j) {
    const int low = b.s[j % 8] >> (4 * (j / 8)) & 15, high = b.s[8 + j % 4] >> (2 * (j / 4)) & 3;
    return (low | high << 4) - 32;
  }
  static void unpack(const BlockQ3_K* b, uint8_t* codes) {
    unpack_crumbs(b->q, codes);
    for (int i = 0; i < 256; ++i)
      codes[i] = static_cast<uint8_t>(codes[i] | (b->hm[i % 32] >> (i / 32) & 1) << 2);
  }
};

}  // namespace

constinit const QuantFormat kQ3_K = block_format<BlockQ3_K, 256, decode_codes<Codes>>("q3_k", 11);
constinit const CodeFormat kQ3_KCodes = code_format<Codes>("q3_k");

}  // namespace ingle::quant
