// Integer codes and scales of a row, for the formats that have fast kernels: the packers and the plain C++
// oracle both read weights through this view.
#pragma once
#include <cstdint>
#include <string_view>

#include "quant/weight.h"

namespace ingle::quant {

// A row's scales as the file holds them. Pointers that are null, and those that the format lacks, are left
// alone.
struct RawScales {
  uint16_t* d = nullptr;  // [k / scale_block] f16 bits (bf16 where the format says so): d
  uint16_t* m =
      nullptr;  // [k / scale_block] f16 bits: the min (q4_1, q5_1), or the unit of the mins (q4_k, q5_k)
  uint8_t* sc = nullptr;  // [k / sub_block] with has_min unsigned scales; else int8 scales, as bits
  uint8_t* mn = nullptr;  // [k / sub_block] unsigned mins
};

// w[i] = scale[i / sub_block] * (code[i] - zero), or scale * code + min when has_min. Bit-equal to
// decode_rows when the product and the sum are rounded one after the other. scale and min are exact in f32.
struct CodeFormat {
  std::string_view format;  // the name in the catalog
  int32_t bits;             // of a code, at most 8
  int32_t sub_block;        // elements per scale (and min): 16 or 32
  int32_t scale_block;      // elements per 16-bit scale: 16 to 256
  int32_t zero;             // 0 when has_min
  bool has_min;
  bool has_sub_scales;  // RawScales::sc is filled
  bool bf16_scales;     // RawScales::d is bf16
  float unit;           // scale = d (* sc) * unit; a power of two
  // What codes can be, in ascending order of how a few bits number them; null: 0 … 2^bits - 1. At most 16.
  const uint8_t* table;
  int32_t n_table;

  // codes [k], scale [k / sub_block], min [k / sub_block] (untouched, and may be null, without has_min).
  // `scale` and `min` may both be null when only codes are wanted.
  void (*codes_row)(const QuantWeight& w, int64_t row, uint8_t* codes, float* scale, float* min);
  void (*raw_scales_row)(const QuantWeight& w, int64_t row, RawScales* out);
};

const CodeFormat* find_codes(const QuantFormat& format);  // null when the format has no such view

}  // namespace ingle::quant
