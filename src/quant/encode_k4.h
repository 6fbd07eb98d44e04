// What Q4_K and Q5_K encode alike: scale and min per 32 values, held in 6 bits over two f16 units.
#pragma once
#include <cstdint>

namespace ingle::quant {

struct K4Block {
  uint16_t d, m;  // f16 bits
  uint8_t sc[8], mn[8];
  uint8_t codes[256];
};
void encode_k4(const float* x, const float* w, int max_code, K4Block& out);

}  // namespace ingle::quant
