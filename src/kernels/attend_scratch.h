// How the scratch of attention is cut. The same for every instruction set, since the caller sizes it without
// knowing which one will run. Constants and one plain function of internal linkage: the ISA units include
// this.
#pragma once
#include <stdint.h>

namespace ingle::kernels {
namespace {

constexpr int64_t kMaxTileRows = 12;
// Rows of logits, and of queries in chunks of 256 values; the 16 keep a tile's rows out of one another's
// cache sets.
constexpr int64_t kChunk = 256;
constexpr int64_t kRowStride = kChunk + 16;

inline int64_t up_to_16(int64_t n) { return (n + 15) / 16 * 16; }

// Offsets in floats.
struct AttendScratch {
  int64_t query;   // [chunks of dk][n_rows, rounded up to a tile][kRowStride]
  int64_t max;     // [n_rows] running maximum
  int64_t sum;     // [n_rows] running sum
  int64_t out;     // [n_rows][value_stride] running output
  int64_t part;    // [kMaxTileRows][value_stride] one split's output of one tile
  int64_t scores;  // [kMaxTileRows][kRowStride] one split's logits of one tile, then their weights
  int64_t fine;    // the same for the page in which a row ends, of 4-bit state
  int64_t opened;  // a page's keys or values of 4-bit state as floats
  int64_t value_stride;
  int64_t chunk_stride;  // from one chunk of the queries to the next
  int64_t total;
};

inline AttendScratch attend_scratch(int64_t n_rows, int64_t dk, int64_t dv) {
  AttendScratch s;
  s.value_stride = up_to_16(dv);
  s.chunk_stride = (n_rows + kMaxTileRows) * kRowStride;
  s.query = 0;
  s.max = s.query + (dk + kChunk - 1) / kChunk * s.chunk_stride;
  s.sum = s.max + up_to_16(n_rows);
  s.out = s.sum + up_to_16(n_rows);
  s.part = s.out + n_rows * s.value_stride;
  s.scores = s.part + kMaxTileRows * s.value_stride;
  s.fine = s.scores + kMaxTileRows * kRowStride;
  s.opened = s.fine + kMaxTileRows * kRowStride;
  s.total = s.opened + 32 * up_to_16(dk > dv ? dk : dv);
  return s;
}

}  // namespace
}  // namespace ingle::kernels
