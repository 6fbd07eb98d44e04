#include "constrain/utf8_ranges.h"

#include <algorithm>

namespace ingle::constrain {
namespace {

// Both ends have encodings of n bytes. Splits until every byte but the first differing one is whole.
void split(uint32_t low, uint32_t high, int n, const std::function<void(const ByteRange*, int)>& each) {
  for (int i = 1; i < n; ++i) {
    const uint32_t mask = (1u << (6 * i)) - 1;  // of the last i bytes
    if ((low & ~mask) == (high & ~mask)) break;
    if ((low & mask) != 0) {
      split(low, low | mask, n, each);
      split((low | mask) + 1, high, n, each);
      return;
    }
    if ((high & mask) != mask) {
      split(low, (high & ~mask) - 1, n, each);
      split(high & ~mask, high, n, each);
      return;
    }
  }
  uint8_t a[4], b[4];
  encode_utf8(low, a);
  encode_utf8(high, b);
  ByteRange ranges[4];
  for (int i = 0; i < n; ++i) ranges[i] = {a[i], b[i]};
  each(ranges, n);
}

}  // namespace

int encode_utf8(uint32_t c, uint8_t out[4]) {
  if (c < 0x80) {
    out[0] = static_cast<uint8_t>(c);
    return 1;
  }
  const int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  constexpr uint8_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (int i = n - 1; i > 0; --i, c >>= 6) out[i] = static_cast<uint8_t>(0x80 | (c & 0x3F));
  out[0] = static_cast<uint8_t>(kLead[n] | c);
  return n;
}

void utf8_ranges(uint32_t low, uint32_t high, const std::function<void(const ByteRange*, int)>& each) {
  constexpr uint32_t kEnds[][2] = {
      {0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, kMaxCodePoint}};
  constexpr int kBytes[] = {1, 2, 3, 3, 4};
  for (int i = 0; i < 5; ++i) {
    const uint32_t from = std::max(low, kEnds[i][0]), to = std::min(high, kEnds[i][1]);
    if (from <= to) split(from, to, kBytes[i], each);
  }
}

}  // namespace ingle::constrain
