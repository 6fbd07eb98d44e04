// Packing and unpacking: files' blocks into the layouts of layout.h. On the load path, so rows are read as
// whole codes and moved four bytes at a time.
#include <cstring>
#include <vector>

#include "core/error.h"
#include "kernels/layout.h"
#include "kernels/matmul.h"
#include "quant/blocks.h"
#include "quant/codes.h"

namespace ingle::kernels {
namespace {

template <class T>
T read(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void write(void* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

uint64_t row_bytes(const quant::QuantFormat& format, int64_t k) {
  return static_cast<uint64_t>(k) / format.dtype.block_elems * format.dtype.block_bytes;
}

// The codes and raw scales of up to 16 rows.
struct RowCodes {
  std::vector<uint8_t> codes, sc, mn;
  std::vector<uint16_t> d, m;
  int64_t k, n_d, n_sub;

  RowCodes(const quant::CodeFormat& format, int64_t cols)
      : k(cols), n_d(cols / format.scale_block), n_sub(cols / format.sub_block) {
    codes.resize(static_cast<size_t>(kRows * k));
    d.resize(static_cast<size_t>(kRows * n_d));
    m.resize(static_cast<size_t>(kRows * n_d));
    sc.resize(static_cast<size_t>(kRows * n_sub));
    mn.resize(static_cast<size_t>(kRows * n_sub));
  }
  void load(const quant::CodeFormat& format, const quant::QuantWeight& w, int64_t row, int64_t slot) {
    format.codes_row(w, row, codes.data() + slot * k, nullptr, nullptr);
    quant::RawScales raw = {d.data() + slot * n_d, m.data() + slot * n_d, sc.data() + slot * n_sub,
                            mn.data() + slot * n_sub};
    format.raw_scales_row(w, row, &raw);
  }
};

// 32 codes of one row into its four-byte lanes of a block.
template <int kBits>
void place_codes(const uint8_t* codes, uint8_t* lane) {
  if constexpr (kBits == 8) {
    for (int j = 0; j < 8; ++j) std::memcpy(lane + 64 * j, codes + 4 * j, 4);
    return;
  }
  constexpr uint64_t kNibble = 0x0f0f0f0f0f0f0f0f;
  for (int half = 0; half < 2; ++half) {
    const uint64_t both =
        (read<uint64_t>(codes + 8 * half) & kNibble) | (read<uint64_t>(codes + 16 + 8 * half) & kNibble) << 4;
    write(lane + 128 * half, static_cast<uint32_t>(both));
    write(lane + 128 * half + 64, static_cast<uint32_t>(both >> 32));
  }
  if constexpr (kBits == 5) {
    uint32_t plane = 0;
    for (int j = 0; j < 8; ++j) plane |= (read<uint32_t>(codes + 4 * j) >> 4 & 0x01010101u) << j;
    write(lane + 256, plane);
  }
  if constexpr (kBits == 6) {
    uint32_t low = 0, high = 0;
    for (int i = 0; i < 4; ++i) {
      low |= (read<uint32_t>(codes + 4 * i) >> 4 & 0x03030303u) << 2 * i;
      high |= (read<uint32_t>(codes + 16 + 4 * i) >> 4 & 0x03030303u) << 2 * i;
    }
    write(lane + 256, low);
    write(lane + 320, high);
  }
}

template <int kLayout>
void place_scales(const RowCodes& rows, int64_t slot, int64_t b, uint8_t* group) {
  constexpr LayoutSpec s = layout_spec(kLayout);
  constexpr bool has_min = s.zero_shift < 0;
  const BlockPlace place = block_place(s, b);
  uint8_t* scales = group + place.scales;
  if constexpr (s.super == 0) {
    write(scales + 2 * slot, rows.d[static_cast<size_t>(slot * rows.n_d + b)]);
    if constexpr (has_min) write(scales + 32 + 2 * slot, rows.m[static_cast<size_t>(slot * rows.n_d + b)]);
    return;
  }
  if (b % kSuperBlocks == 0) {
    const auto at = static_cast<size_t>(slot * rows.n_d + b / kSuperBlocks);
    write(group + place.super + 2 * slot, rows.d[at]);
    if constexpr (has_min) write(group + place.super + 32 + 2 * slot, rows.m[at]);
  }
  constexpr int64_t per_block = kBlock / s.sub;
  const auto at = static_cast<size_t>(slot * rows.n_sub + b * per_block);
  scales[slot] = rows.sc[at];
  if constexpr (has_min) {
    scales[16 + slot] = rows.mn[at];
  } else if constexpr (per_block == 2) {
    scales[16 + slot] = rows.sc[at + 1];
  }
}

template <int kLayout>
void pack_codes(const RowCodes& rows, int64_t n_rows, uint8_t* group) {
  constexpr LayoutSpec s = layout_spec(kLayout);
  for (int64_t b = 0; b < rows.k / kBlock; ++b) {
    uint8_t* block = group + block_place(s, b).codes;
    for (int64_t r = 0; r < n_rows; ++r) {
      place_codes<s.bits>(rows.codes.data() + r * rows.k + b * kBlock, block + 4 * r);
      place_scales<kLayout>(rows, r, b, group);
    }
  }
}

// One row of a group back as codes and f32 scales, then as values: product and sum rounded one after the
// other.
template <int kLayout>
void unpack_codes(const uint8_t* group, int64_t r, int64_t k, float* out) {
  constexpr LayoutSpec s = layout_spec(kLayout);
  constexpr bool has_min = s.zero_shift < 0;
  for (int64_t b = 0; b < k / kBlock; ++b, out += kBlock) {
    const BlockPlace place = block_place(s, b);
    const uint8_t* lane = group + place.codes + 4 * r;
    const uint8_t* scales = group + place.scales;
    float scale[2], min = 0.0f;
    if constexpr (s.super == 0) {
      scale[0] = scale[1] = quant::half_to_float(read<uint16_t>(scales + 2 * r));
      if constexpr (has_min) min = quant::half_to_float(read<uint16_t>(scales + 32 + 2 * r));
    } else if constexpr (has_min) {
      scale[0] = scale[1] = quant::half_to_float(read<uint16_t>(group + place.super + 2 * r)) * scales[r];
      min = -(quant::half_to_float(read<uint16_t>(group + place.super + 32 + 2 * r)) * scales[16 + r]);
    } else {
      for (int h = 0; h < 2; ++h)
        scale[h] = quant::half_to_float(read<uint16_t>(group + place.super + 2 * r)) *
                   static_cast<float>(static_cast<int8_t>(scales[16 * h + r]));
    }
    for (int e = 0; e < kBlock; ++e) {
      const int j = e / 4, i = e % 4;
      int code;
      if constexpr (s.bits == 8) {
        code = lane[64 * j + i];
      } else {
        code = lane[64 * (j % 4) + i] >> (j < 4 ? 0 : 4) & 15;
        if constexpr (s.bits == 5) code |= (lane[256 + i] >> j & 1) << 4;
        if constexpr (s.bits == 6) code |= (lane[(j < 4 ? 256 : 320) + i] >> j % 4 * 2 & 3) << 4;
      }
      if constexpr (has_min) {
        const float product = scale[0] * static_cast<float>(code);
        out[e] = product + min;
      } else {
        out[e] = scale[e / 16] * static_cast<float>(code - (1 << s.zero_shift));
      }
    }
  }
}

struct CodeLayout {
  int32_t layout;
  void (*pack)(const RowCodes& rows, int64_t n_rows, uint8_t* group);
  void (*unpack)(const uint8_t* group, int64_t r, int64_t k, float* out);
};
constexpr CodeLayout kCodeLayouts[] = {
    {kLayoutQ4_0, pack_codes<kLayoutQ4_0>, unpack_codes<kLayoutQ4_0>},
    {kLayoutQ4_1, pack_codes<kLayoutQ4_1>, unpack_codes<kLayoutQ4_1>},
    {kLayoutQ5_0, pack_codes<kLayoutQ5_0>, unpack_codes<kLayoutQ5_0>},
    {kLayoutQ5_1, pack_codes<kLayoutQ5_1>, unpack_codes<kLayoutQ5_1>},
    {kLayoutQ8_0, pack_codes<kLayoutQ8_0>, unpack_codes<kLayoutQ8_0>},
    {kLayoutQ4_K, pack_codes<kLayoutQ4_K>, unpack_codes<kLayoutQ4_K>},
    {kLayoutQ5_K, pack_codes<kLayoutQ5_K>, unpack_codes<kLayoutQ5_K>},
    {kLayoutQ6_K, pack_codes<kLayoutQ6_K>, unpack_codes<kLayoutQ6_K>},
};
const CodeLayout& code_layout(int32_t layout) {
  for (const CodeLayout& entry : kCodeLayouts)
    if (entry.layout == layout) return entry;
  fail(Code::internal, "kernels/pack", format("no packer for layout {}", layout));
}

// Plain elements of 16 rows to [k][16], in slices of k that keep the output in the first-level cache.
template <class T>
void pack_plain(const std::byte* const (&rows)[kRows], int64_t n_rows, int64_t k, uint8_t* group) {
  constexpr int64_t kSlice = 64;
  for (int64_t k0 = 0; k0 < k; k0 += kSlice) {
    const int64_t k1 = k0 + kSlice < k ? k0 + kSlice : k;
    for (int64_t r = 0; r < n_rows; ++r)
      for (int64_t i = k0; i < k1; ++i)
        std::memcpy(group + (i * kRows + r) * int64_t{sizeof(T)}, rows[r] + i * int64_t{sizeof(T)},
                    sizeof(T));
  }
}

// bf16 of 16 rows to [(k + 1) / 2][16][2]; the group is zero before.
void pack_pairs(const std::byte* const (&rows)[kRows], int64_t n_rows, int64_t k, uint8_t* group) {
  constexpr int64_t kSlice = 128;
  for (int64_t k0 = 0; k0 < k; k0 += kSlice)
    for (int64_t r = 0; r < n_rows; ++r)
      for (int64_t i = k0; i < k && i < k0 + kSlice; i += 2)
        std::memcpy(group + (i / 2 * kRows + r) * 4, rows[r] + i * 2, i + 1 < k ? 4 : 2);
}

struct Source {
  const quant::QuantWeight& w;
  const int64_t* rows;
  int64_t operator()(int64_t row) const { return rows ? rows[row] : row; }
};

void pack_file_blocks(const Source& source, int64_t row0, int64_t row1, PackedWeight& out) {
  const uint64_t bytes = row_bytes(*out.format, out.k);
  for (int64_t row = row0; row < row1; ++row)
    std::memcpy(out.data.data() + static_cast<uint64_t>(row) * bytes,
                source.w.parts[0].data + static_cast<uint64_t>(source(row)) * bytes, bytes);
}

void pack_float_group(const Source& source, int64_t row0, int64_t n_rows, int32_t layout, int64_t k,
                      uint8_t* group) {
  const quant::QuantFormat& format = *source.w.format;
  const std::byte* rows[kRows] = {};
  std::vector<float> decoded;
  if (format.dtype.type == DType::f32 || layout != kLayoutF32) {
    const uint64_t bytes = row_bytes(format, k);
    for (int64_t r = 0; r < n_rows; ++r)
      rows[r] = source.w.parts[0].data + static_cast<uint64_t>(source(row0 + r)) * bytes;
  } else {  // a format that is kept as f32 (several parts): decoded here
    decoded.resize(static_cast<size_t>(n_rows * k));
    for (int64_t r = 0; r < n_rows; ++r) {
      format.decode_rows(source.w, source(row0 + r), 1, decoded.data() + r * k);
      rows[r] = reinterpret_cast<const std::byte*>(decoded.data() + r * k);
    }
  }
  if (layout == kLayoutF32) return pack_plain<uint32_t>(rows, n_rows, k, group);
  if (layout == kLayoutBf16Pairs) return pack_pairs(rows, n_rows, k, group);
  pack_plain<uint16_t>(rows, n_rows, k, group);
}

bool is_float(int32_t layout) {
  return layout == kLayoutF32 || layout == kLayoutF16 || layout == kLayoutBf16Pairs;
}

}  // namespace

uint64_t packed_bytes(const MatmulRow& row, const quant::QuantFormat& format, int64_t n, int64_t k) {
  if (row.layout == kLayoutBlocks) return static_cast<uint64_t>(n) * row_bytes(format, k);
  return static_cast<uint64_t>((n + kRows - 1) / kRows) * static_cast<uint64_t>(group_bytes(row.layout, k));
}

void pack_groups(const quant::QuantWeight& w, const int64_t* source_row, int64_t group0, int64_t group1,
                 PackedWeight& out) {
  const Source source = {w, source_row};
  const int32_t layout = out.row->layout;
  const int64_t end = group1 * kRows < out.n ? group1 * kRows : out.n;
  if (layout == kLayoutBlocks) return pack_file_blocks(source, group0 * kRows, end, out);

  const quant::CodeFormat* codes = is_float(layout) ? nullptr : quant::find_codes(*w.format);
  if (!is_float(layout) && !codes)
    fail(Code::internal, "kernels/pack",
         format("{} has no integer codes to pack for {}", w.format->name, out.row->name));
  std::vector<RowCodes> rows;
  if (codes) rows.emplace_back(*codes, out.k);
  const int64_t bytes = group_bytes(layout, out.k);
  for (int64_t g = group0; g < group1; ++g) {
    const int64_t row0 = g * kRows;
    const int64_t n_rows = end - row0 < kRows ? end - row0 : kRows;
    uint8_t* group = out.data.as<uint8_t>() + g * bytes;
    std::memset(group, 0, static_cast<size_t>(bytes));
    if (!codes) {
      pack_float_group(source, row0, n_rows, layout, out.k, group);
      continue;
    }
    for (int64_t r = 0; r < n_rows; ++r) rows[0].load(*codes, w, source(row0 + r), r);
    code_layout(layout).pack(rows[0], n_rows, group);
  }
}

void unpack_row(const PackedWeight& w, int64_t row, float* out) {
  const int32_t layout = w.row->layout;
  if (layout == kLayoutBlocks) {
    const uint64_t bytes = row_bytes(*w.format, w.k);
    quant::QuantWeight view;
    view.format = w.format;
    view.shape = Shape{1, w.k};
    view.parts[0] = {w.format->dtype.type, view.shape, w.data.data() + static_cast<uint64_t>(row) * bytes,
                     bytes};
    return w.format->decode_rows(view, 0, 1, out);
  }
  const uint8_t* group = w.data.as<uint8_t>() + row / kRows * group_bytes(layout, w.k);
  const int64_t r = row % kRows;
  if (!is_float(layout)) return code_layout(layout).unpack(group, r, w.k, out);
  for (int64_t i = 0; i < w.k; ++i) {
    const int64_t at = i * kRows + r;
    if (layout == kLayoutF32) out[i] = read<float>(group + 4 * at);
    if (layout == kLayoutF16) out[i] = quant::half_to_float(read<uint16_t>(group + 2 * at));
    if (layout == kLayoutBf16Pairs)
      out[i] = quant::bf16_to_float(read<uint16_t>(group + 4 * (i / 2 * kRows + r) + 2 * (i % 2)));
  }
}

}  // namespace ingle::kernels
