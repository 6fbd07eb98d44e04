// The packed weight layouts, as plain constants that ISA units may see. The ids are recorded with the packed
// bytes; numbers are never reused.
//
// A weight is cut into groups of 16 rows (the last one padded with zeros), and a group is one forward stream
// of k-blocks, so that a kernel reads memory linearly and its lanes are rows: no horizontal sums, one scale
// vector for 16 rows. A block covers 32 values of k. Unpacked it is 8 k-groups of 64 bytes: byte 4 * row + i
// of k-group j is the code of (row, k = 4 j + i), which is the operand that vpdpbusd and vpmaddubsw want.
//   2 bits  2 * 64 bytes: bits 2 i, 2 i + 1 of plane h are the code of k-group 4 h + i
//   3 bits  the same, then 64 bytes whose bit j is the third bit for k-group j
//   4 bits  4 * 64 bytes: byte b of vector i holds k-group i in its low nibble, k-group i + 4 in its high
//   nibble 5 bits  the nibbles, then 64 bytes whose bit j is the fifth bit for k-group j 6 bits  the nibbles,
//   then 2 * 64 bytes: bits 2 i, 2 i + 1 of plane h are bits 4, 5 for k-group 4 h + i 8 bits  8 * 64 bytes,
//   k-group after k-group
// Formats of uneven steps keep the number of a step in 3 or 4 bits; a table of up to 16 bytes turns it into
// the code. Then the block's scales: f16 d[16] (and f16 m[16]; or d[2][16] for sub-blocks of 16), or for
// super-blocks of 256 one byte each: sc[16] (and mn[16]), i8 sc[2][16] for sub-blocks of 16, or with mins
// [2][16] of sc in the low nibble and mn in the high one. A super-block starts with f16 d[16], f16 dmin[16]
// (64 bytes). The scales of an odd block stand before its codes: two blocks with 32 bytes of scales then
// share one line for them, and codes stay aligned.
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
  kLayoutQ2_K = 24,
  kLayoutQ3_K = 25,
  kLayoutIQ4_NL = 26,
  kLayoutIQ4_XS = 27,
  kLayoutMXFP4 = 28,
  kLayoutNVFP4 = 29,
  kLayoutIQ3_S = 30,
  kLayoutIQ3_XXS = 31,
  kLayoutIQ2_32 = 32,   // a scale per 32: iq2_xxs
  kLayoutIQ2_16 = 33,   // a scale per 16: iq2_xs, iq2_s
  kLayoutIQ1_32 = 34,   // iq1_s
  kLayoutIQ1_16 = 35,   // iq1_m
  kLayoutTernary = 36,  // f16 d per 32: tq1_0, tq2_0, q1_0, q2_0
};

constexpr int64_t kRows = 16, kBlock = 32, kSuperHeader = 64, kSuperBlocks = 8;

enum : int32_t { kTableNone = 0, kTableIq4, kTableFp4, kTableIq3S, kTableIq3Xxs, kTableIq2, kTableIq1 };
enum : int32_t { kScaleHalf = 0, kScaleBf16, kScaleSuper };

struct LayoutSpec {
  int32_t bits;         // of what is kept of a code; 0 for a layout that is not made of codes
  int32_t sub;          // values that share one scale: 32 or 16
  int32_t zero;         // the constant zero point; -1 for a format with a min
  int32_t scales;       // f16 or bf16, or byte scales under f16 d, dmin per 256
  int32_t table;        // how what is kept becomes a code
  int32_t shift;        // scales are times 2^-shift
  int32_t top;          // the largest code
  int32_t code_bytes;   // of a block
  int32_t scale_bytes;  // of a block
  constexpr bool has_min() const { return zero < 0; }
  constexpr bool super() const { return scales == kScaleSuper; }
};

static constexpr LayoutSpec layout_spec(int32_t layout) {
  switch (layout) {
    case kLayoutQ4_0:
      return {4, 32, 8, kScaleHalf, 0, 0, 15, 256, 32};
    case kLayoutQ4_1:
      return {4, 32, -1, kScaleHalf, 0, 0, 15, 256, 64};
    case kLayoutQ5_0:
      return {5, 32, 16, kScaleHalf, 0, 0, 31, 320, 32};
    case kLayoutQ5_1:
      return {5, 32, -1, kScaleHalf, 0, 0, 31, 320, 64};
    case kLayoutQ8_0:
      return {8, 32, 128, kScaleHalf, 0, 0, 255, 512, 32};
    case kLayoutQ2_K:
      return {2, 16, -1, kScaleSuper, 0, 0, 3, 128, 32};
    case kLayoutQ3_K:
      return {3, 16, 4, kScaleSuper, 0, 0, 7, 192, 32};
    case kLayoutQ4_K:
      return {4, 32, -1, kScaleSuper, 0, 0, 15, 256, 32};
    case kLayoutQ5_K:
      return {5, 32, -1, kScaleSuper, 0, 0, 31, 320, 32};
    case kLayoutQ6_K:
      return {6, 16, 32, kScaleSuper, 0, 0, 63, 384, 32};
    case kLayoutIQ4_NL:
      return {4, 32, 128, kScaleHalf, kTableIq4, 0, 241, 256, 32};
    case kLayoutIQ4_XS:
      return {4, 32, 128, kScaleSuper, kTableIq4, 0, 241, 256, 32};
    case kLayoutMXFP4:
      return {4, 32, 12, kScaleBf16, kTableFp4, 0, 24, 256, 32};
    case kLayoutNVFP4:
      return {4, 16, 12, kScaleHalf, kTableFp4, 0, 24, 256, 64};
    case kLayoutIQ3_S:
      return {4, 32, 15, kScaleSuper, kTableIq3S, 0, 30, 256, 32};
    case kLayoutIQ3_XXS:
      return {4, 32, 62, kScaleSuper, kTableIq3Xxs, 2, 124, 256, 32};
    case kLayoutIQ2_32:
      return {3, 32, 43, kScaleSuper, kTableIq2, 3, 86, 192, 32};
    case kLayoutIQ2_16:
      return {3, 16, 43, kScaleSuper, kTableIq2, 3, 86, 192, 32};
    case kLayoutIQ1_32:
      return {3, 32, 9, kScaleSuper, kTableIq1, 3, 18, 192, 32};
    case kLayoutIQ1_16:
      return {3, 16, 9, kScaleSuper, kTableIq1, 3, 18, 192, 32};
    case kLayoutTernary:
      return {2, 32, 1, kScaleHalf, 0, 0, 2, 128, 32};
    default:
      return {};
  }
}

// The codes of a table, four times over, so that a shuffle within 16 bytes finds them in any vector.
struct alignas(64) StepTable {
  uint8_t codes[64];
};
static constexpr StepTable step_table(int32_t table) {
  constexpr uint8_t kSteps[7][16] = {
      {},
      {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241},
      {12, 13, 14, 15, 16, 18, 20, 24, 11, 10, 9, 8, 6, 4, 0},
      {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
      {0, 10, 18, 26, 34, 42, 50, 58, 66, 74, 82, 90, 98, 106, 114, 124},
      {0, 18, 35, 51, 68, 86},
      {0, 2, 8, 10, 16, 18},
  };
  StepTable t = {};
  for (int i = 0; i < 64; ++i) t.codes[i] = kSteps[table][i % 16];
  return t;
}
template <int32_t kTable>
static constexpr StepTable kStepTable = step_table(kTable);

// Where block `b` of a group stands: its codes and its scales.
struct BlockPlace {
  int64_t codes, scales, super;
};
static constexpr BlockPlace block_place(const LayoutSpec& s, int64_t b) {
  const int64_t bytes = s.code_bytes + s.scale_bytes;
  const int64_t super = s.super() ? b / kSuperBlocks * (kSuperHeader + kSuperBlocks * bytes) : 0;
  const int64_t in = s.super() ? b % kSuperBlocks : b;
  const int64_t pair = super + (s.super() ? kSuperHeader : 0) + in / 2 * 2 * bytes;
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
  const int64_t header = s.super() ? blocks / kSuperBlocks * kSuperHeader : 0;
  return (header + blocks * (s.code_bytes + s.scale_bytes) + 63) / 64 * 64;
}

}  // namespace ingle::kernels
