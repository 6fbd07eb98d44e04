// The packed weight layouts, as plain constants that ISA units may see. The ids are recorded with the packed
// bytes; numbers are never reused.
//
// A weight is cut into groups of 16 rows (the last one padded with zeros), and a group is one forward stream
// of k-blocks, so that a kernel reads memory linearly and its lanes are rows: no horizontal sums, one scale
// vector for 16 rows. A block covers 32 values of k. Unpacked it is 8 k-groups of 64 bytes: byte 4 * row + i
// of k-group j is the code of (row, k = 4 j + i), which is the operand that vpdpbusd and vpmaddubsw want.
//   4 bits  4 * 64 bytes: byte b of vector i holds k-group i in its low nibble, k-group i + 4 in its high
//   nibble 5 bits  the nibbles, then 64 bytes whose bit j is the fifth bit for k-group j 6 bits  the nibbles,
//   then 2 * 64 bytes: bits 2 i, 2 i + 1 of plane h are bits 4, 5 for k-group 4 h + i 8 bits  8 * 64 bytes,
//   k-group after k-group
// then the block's scales: f16 d[16] (and f16 m[16]), or for super-blocks of 256 one byte each: sc[16] (and
// mn[16]), or i8 sc[2][16] for sub-blocks of 16. A super-block starts with f16 d[16], f16 dmin[16] (64
// bytes). The scales of an odd block stand before its codes: two blocks with 32 bytes of scales then share
// one line for them, and codes stay aligned.
#pragma once
#include <stdint.h>

namespace ingle::kernels {

enum : int32_t {
  kLayoutBlocks = 0,     // the file's blocks, row after row, not grouped
  kLayoutF32 = 1,        // [k][16] f32
  kLayoutF16 = 2,        // [k][16] f16
  kLayoutBf16Pairs = 4,  // [(k + 1) / 2][16][2] bf16; an odd k is padded with a zero
  kLayoutQ4_0 = 16,
  kLayoutQ4_1 = 17,
  kLayoutQ5_0 = 18,
  kLayoutQ5_1 = 19,
  kLayoutQ8_0 = 20,
  kLayoutQ4_K = 21,
  kLayoutQ5_K = 22,
  kLayoutQ6_K = 23,
};

constexpr int64_t kRows = 16, kBlock = 32, kSuperHeader = 64, kSuperBlocks = 8;

struct LayoutSpec {
  int32_t bits;         // of a code; 0 for a layout that is not made of codes
  int32_t sub;          // values that share one scale: 32 or 16
  int32_t zero_shift;   // the constant zero point is 1 << zero_shift; -1 for a format with a min
  int32_t super;        // 1: byte scales under f16 d, dmin per 256
  int32_t code_bytes;   // of a block
  int32_t scale_bytes;  // of a block
};

static constexpr LayoutSpec layout_spec(int32_t layout) {
  switch (layout) {
    case kLayoutQ4_0:
      return {4, 32, 3, 0, 256, 32};
    case kLayoutQ4_1:
      return {4, 32, -1, 0, 256, 64};
    case kLayoutQ5_0:
      return {5, 32, 4, 0, 320, 32};
    case kLayoutQ5_1:
      return {5, 32, -1, 0, 320, 64};
    case kLayoutQ8_0:
      return {8, 32, 7, 0, 512, 32};
    case kLayoutQ4_K:
      return {4, 32, -1, 1, 256, 32};
    case kLayoutQ5_K:
      return {5, 32, -1, 1, 320, 32};
    case kLayoutQ6_K:
      return {6, 16, 5, 1, 384, 32};
    default:
      return {0, 0, 0, 0, 0, 0};
  }
}

// Where block `b` of a group stands: its codes and its scales.
struct BlockPlace {
  int64_t codes, scales, super;
};
static constexpr BlockPlace block_place(const LayoutSpec& s, int64_t b) {
  const int64_t bytes = s.code_bytes + s.scale_bytes;
  const int64_t super = s.super ? b / kSuperBlocks * (kSuperHeader + kSuperBlocks * bytes) : 0;
  const int64_t in = s.super ? b % kSuperBlocks : b;
  const int64_t pair = super + (s.super ? kSuperHeader : 0) + in / 2 * 2 * bytes;
  if (in % 2 == 0) return {pair, pair + s.code_bytes, super};
  return {pair + bytes + s.scale_bytes, pair + bytes, super};
}

// Bytes of one group of 16 rows of k values; a multiple of 64.
static constexpr int64_t group_bytes(int32_t layout, int64_t k) {
  if (layout == kLayoutF32) return k * kRows * 4;
  if (layout == kLayoutF16) return (k * kRows * 2 + 63) / 64 * 64;
  if (layout == kLayoutBf16Pairs) return (k + 1) / 2 * kRows * 4;
  const LayoutSpec s = layout_spec(layout);
  const int64_t blocks = k / kBlock;
  const int64_t header = s.super ? blocks / kSuperBlocks * kSuperHeader : 0;
  return (header + blocks * (s.code_bytes + s.scale_bytes) + 63) / 64 * 64;
}

}  // namespace ingle::kernels
