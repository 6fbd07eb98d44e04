// 64 values in 36 bytes: per 16 of them an unsigned FP8 scale times FP4; the NaN code of a scale counts as
// zero.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

// Half of the FP8 number, since steps are doubled; an f16 holds it.
float half_scale_of(uint8_t s) { return s == 0x7f ? 0.0f : e4m3_to_float(s & 0x7f) * 0.5f; }

struct Codes : CodesBase {
  using Block = BlockNVFP4;
  static constexpr int kElems = 64, kBits = 5, kSubBlock = 16, kZero = 12, kTableSize = 15, kScaleBlock = 16;
  static constexpr const uint8_t* kTable = kFp4Codes;
  static void scales(const Block& b, float* scale, float*) {
    for (int j = 0; j < 4; ++j) scale[j] = half_scale_of(b.s[j]);
  }
  static void raw(const Block& b, RawScales out) {
    for (int j = 0; j < 4 && out.d; ++j) out.d[j] = float_to_half(half_scale_of(b.s[j]));
  }
  static void unpack(const BlockNVFP4* b, uint8_t* codes) {
    for (int k = 0; k < 4; ++k) unpack_nibbles(b->q + 8 * k, 8, codes + 16 * k);
    for (int i = 0; i < 64; ++i) codes[i] = static_cast<uint8_t>(kFp4Doubled[codes[i]] + 12);
  }
};

}  // namespace

constinit const QuantFormat kNVFP4 = block_format<BlockNVFP4, 64, decode_codes<Codes>>("nvfp4", 40);
constinit const CodeFormat kNVFP4Codes = code_format<Codes>("nvfp4");

}  // namespace ingle::quant
