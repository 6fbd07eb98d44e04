// 64 values in 36 bytes: per 16 of them an unsigned FP8 scale times FP4; the NaN code of a scale counts as
// zero.
#include "quant/block_format.h"

namespace ingle::quant {
namespace {

void decode(const BlockNVFP4& b, float* y) {
  for (int k = 0; k < 4; ++k) {
    const float scale = b.s[k] == 0x7f ? 0.0f : e4m3_to_float(b.s[k] & 0x7f) * 0.5f;
    uint8_t codes[16];
    unpack_nibbles(b.q + 8 * k, 8, codes);
    for (int i = 0; i < 16; ++i) y[16 * k + i] = scale * kFp4Doubled[codes[i]];
  }
}

}  // namespace

constinit const QuantFormat kNVFP4 = block_format<BlockNVFP4, 64, decode>("nvfp4", 40);

}  // namespace ingle::quant
