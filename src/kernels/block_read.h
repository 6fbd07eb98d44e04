// The packed layouts one code and one scale at a time, in plain C++: for the plain rows and for unpacking.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/layout.h"
#include "quant/blocks.h"

namespace ingle::kernels {

struct BlockScales {
  float scale[2], min[2];  // of each half of 16 values; equal where a sub-block has 32
};

// Of row r of a block: `scales` and `super` are where block_place() says.
template <int kLayout>
BlockScales read_block_scales(const uint8_t* scales, const uint8_t* super, int64_t r) {
  constexpr LayoutSpec s = layout_spec(kLayout);
  constexpr bool both = s.sub == 16;
  const auto read16 = [](const uint8_t* p) {
    uint16_t v;
    std::memcpy(&v, p, 2);
    return v;
  };
  BlockScales out = {};
  for (int h = 0; h < 2; ++h) {
    const int64_t at = (both ? 16 * h : 0) + r;
    if constexpr (s.scales == kScaleBf16) {
      out.scale[h] = quant::bf16_to_float(read16(scales + 2 * at));
    } else if constexpr (s.scales == kScaleHalf) {
      out.scale[h] = quant::half_to_float(read16(scales + 2 * at));
      if constexpr (s.has_min()) out.min[h] = quant::half_to_float(read16(scales + 32 + 2 * r));
    } else {
      const float d = quant::half_to_float(read16(super + 2 * r)),
                  m = quant::half_to_float(read16(super + 32 + 2 * r));
      if constexpr (s.has_min() && both) {
        out.scale[h] = d * static_cast<float>(scales[at] & 15);
        out.min[h] = -(m * static_cast<float>(scales[at] >> 4));
      } else if constexpr (s.has_min()) {
        out.scale[h] = d * static_cast<float>(scales[r]);
        out.min[h] = -(m * static_cast<float>(scales[16 + r]));
      } else {
        out.scale[h] = d * static_cast<float>(static_cast<int8_t>(scales[at]));
      }
    }
    out.scale[h] *= 1.0f / static_cast<float>(1 << s.shift);
  }
  return out;
}

// The code of byte i (0 … 63: row and k within its four) of k-group j.
template <int kLayout>
uint8_t read_code(const uint8_t* codes, int j, int64_t i) {
  constexpr LayoutSpec s = layout_spec(kLayout);
  int code;
  if constexpr (s.bits == 8) {
    code = codes[64 * j + i];
  } else if constexpr (s.bits < 4) {
    code = codes[64 * (j / 4) + i] >> (2 * (j % 4)) & 3;
    if constexpr (s.bits == 3) code |= (codes[128 + i] >> j & 1) << 2;
  } else {
    code = codes[64 * (j % 4) + i] >> (j < 4 ? 0 : 4) & 15;
    if constexpr (s.bits == 5) code |= (codes[256 + i] >> j & 1) << 4;
    if constexpr (s.bits == 6) code |= (codes[(j < 4 ? 256 : 320) + i] >> (j % 4 * 2) & 3) << 4;
  }
  if constexpr (s.table != kTableNone) return kStepTable<s.table>.codes[code];
  return static_cast<uint8_t>(code);
}

}  // namespace ingle::kernels
