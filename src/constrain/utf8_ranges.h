// Ranges of code points as sequences of byte ranges.
#pragma once
#include <cstdint>
#include <functional>

namespace ingle::constrain {

constexpr uint32_t kMaxCodePoint = 0x10FFFF;

struct ByteRange {
  uint8_t low, high;
};

int encode_utf8(uint32_t code_point, uint8_t out[4]);  // the number of bytes
// Calls `each(bytes, n)` for disjoint sequences of n byte ranges which together are just the encodings of
// [low, high]; surrogates are left out.
void utf8_ranges(uint32_t low, uint32_t high, const std::function<void(const ByteRange*, int)>& each);

}  // namespace ingle::constrain
