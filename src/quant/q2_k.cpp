// 256 values in 84 bytes; per 16 of them d * (s & 15) * code - m * (s >> 4), codes of 2 bits.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

struct Codes : CodesBase {
  using Block = BlockQ2_K;
  static constexpr int kElems = 256, kBits = 2, kSubBlock = 16, kZero = 0;
  static constexpr bool kHasMin = true, kHasSubScales = true;
  static void scales(const Block& b, float* scale, float* min) {
    const float d = load_half(b.d), m = load_half(b.m);
    for (int j = 0; j < 16; ++j) {
      scale[j] = d * static_cast<float>(b.s[j] & 15);
      min[j] = -(m * static_cast<float>(b.s[j] >> 4));
    }
  }
  static void raw(const Block& b, RawScales out) {
    if (out.d) *out.d = load_u16(b.d);
    if (out.m) *out.m = load_u16(b.m);
    for (int j = 0; j < 16 && out.sc; ++j) out.sc[j] = b.s[j] & 15;
    for (int j = 0; j < 16 && out.mn; ++j) out.mn[j] = b.s[j] >> 4;
  }
  static void unpack(const BlockQ2_K* b, uint8_t* codes) { unpack_crumbs(b->q, codes); }
};

}  // namespace

constinit const QuantFormat kQ2_K = block_format<BlockQ2_K, 256, decode_codes<Codes>>("q2_k", 10);
constinit const CodeFormat kQ2_KCodes = code_format<Codes>("q2_k");

}  // namespace ingle::quant
