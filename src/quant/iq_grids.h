// The grids of the IQ formats (data of the format: ggml-org/llama.cpp, ggml-common.h), one 16-bit word an
// entry, the first value in the lowest bits.
#pragma once
#include "quant/blocks.h"

namespace ingle::quant {

// 8 values of 2 bits: 8, 25, 43.
extern const uint16_t kIq2XxsGrid[256];
extern const uint16_t kIq2XsGrid[512];
extern const uint16_t kIq2SGrid[1024];
// 4 values of 3 bits: 4, 12, 20, ... 52, 62 and 1, 3, ... 15.
extern const uint16_t kIq3XxsGrid[256];
extern const uint16_t kIq3SGrid[512];
// 8 values of 2 bits: value + 1, values -1, 0, 1.
extern const uint16_t kIq1Grid[2048];

// Seven stored signs; the eighth makes the number of minus signs even.
inline uint32_t even_signs(uint32_t seven) {
  seven &= 127;
  return seven | static_cast<uint32_t>(__builtin_parity(seven)) << 7;
}

// Codes are the value plus a zero point (blocks.h), so that a minus sign turns them about it.
inline void signed8(uint16_t entry, uint32_t signs, uint8_t* codes) {
  static constexpr int kValues[4] = {8, 25, 43, 0};
  for (int i = 0; i < 8; ++i) {
    const int v = kValues[entry >> (2 * i) & 3];
    codes[i] = static_cast<uint8_t>(signs >> i & 1 ? 43 - v : 43 + v);
  }
}

// Values kStep * code + kFirst; the last one of IQ3_XXS is 62 where the rule gives 60.
template <int kStep, int kFirst, int kZero>
void signed4(uint16_t entry, uint32_t signs, uint8_t* codes) {
  for (int i = 0; i < 4; ++i) {
    const int code = entry >> (3 * i) & 7;
    const int value = kStep == 8 && code == 7 ? 62 : kStep * code + kFirst;
    codes[i] = static_cast<uint8_t>(signs >> i & 1 ? kZero - value : kZero + value);
  }
}

// Eight times (-1, 0 or 1, plus or minus 1/8).
inline void ternary8(uint16_t entry, bool down, uint8_t* codes) {
  for (int i = 0; i < 8; ++i) codes[i] = static_cast<uint8_t>(8 * (entry >> (2 * i) & 3) + (down ? 0 : 2));
}

}  // namespace ingle::quant
