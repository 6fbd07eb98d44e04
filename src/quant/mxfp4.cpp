// 32 values in 17 bytes: 2^(e - 127) * FP4. Code 8, minus zero, decodes to plus zero, as in the reference.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

// The scale is half of 2^(e - 127), since steps are doubled; a bf16 holds it.
struct Codes : CodesBase {
  using Block = BlockMXFP4;
  static constexpr int kElems = 32, kBits = 5, kSubBlock = 32, kZero = 12, kTableSize = 15;
  static constexpr bool kBf16Scales = true;
  static constexpr const uint8_t* kTable = kFp4Codes;
  static void scales(const Block& b, float* scale, float*) { scale[0] = e8m0_to_float(b.e) * 0.5f; }
  static void raw(const Block& b, RawScales out) {
    if (out.d) *out.d = static_cast<uint16_t>(float_to_bits(e8m0_to_float(b.e) * 0.5f) >> 16);
  }
  static void unpack(const BlockMXFP4* b, uint8_t* codes) {
    unpack_nibbles(b->q, 16, codes);
    for (int i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(kFp4Doubled[codes[i]] + 12);
  }
};

}  // namespace

constinit const QuantFormat kMXFP4 = block_format<BlockMXFP4, 32, decode_codes<Codes>>("mxfp4", 39);
constinit const CodeFormat kMXFP4Codes = code_format<Codes>("mxfp4");

}  // namespace ingle::quant
