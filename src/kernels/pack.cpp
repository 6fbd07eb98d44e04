// Packing and unpacking: files' blocks into the layouts of layout.h. On the load path, so rows are read as
// whole codes and moved four bytes at a time.
#include <cstring>
#include <vector>

#include "core/error.h"
#include "kernels/block_read.h"
#include "kernels/code_rows.h"
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
    uint8_t* to = codes.data() + slot * k;
    format.codes_row(w, row, to, nullptr, nullptr);
    if (format.table) {  // the number of each step, instead of the step
      uint8_t number[256] = {};
      for (int i = 0; i < format.n_table; ++i) number[format.table[i]] = static_cast<uint8_t>(i);
      for (int64_t i = 0; i < k; ++i) to[i] = number[to[i]];
    }
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
  if constexpr (kBits < 4) {
    for (int h = 0; h < 2; ++h) {
      uint32_t plane = 0;
      for (int i = 0; i < 4; ++i) plane |= (read<uint32_t>(codes + 16 * h + 4 * i) & 0x03030303u) << 2 * i;
      write(lane + 64 * h, plane);
    }
    if constexpr (kBits == 3) {
      uint32_t plane = 0;
      for (int j = 0; j < 8; ++j) plane |= (read<uint32_t>(codes + 4 * j) >> 2 & 0x01010101u) << j;
      write(lane + 128, plane);
    }
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
  constexpr int64_t per_block = kBlock / s.sub;
  const BlockPlace place = block_place(s, b);
  uint8_t* scales = group + place.scales;
  const int64_t per_unit = rows.k / rows.n_d;  // values
  const auto unit = [&](int64_t value) { return static_cast<size_t>(slot * rows.n_d + value / per_unit); };
  if constexpr (!s.super()) {
    for (int64_t h = 0; h < per_block; ++h)
      write(scales + 32 * h + 2 * slot, rows.d[unit(b * kBlock + h * s.sub)]);
    if constexpr (s.has_min()) write(scales + 32 + 2 * slot, rows.m[unit(b * kBlock)]);
    return;
  }
  if (b % kSuperBlocks == 0) {
    write(group + place.super + 2 * slot, rows.d[unit(b * kBlock)]);
    if constexpr (s.has_min()) write(group + place.super + 32 + 2 * slot, rows.m[unit(b * kBlock)]);
  }
  for (int64_t h = 0; h < per_block; ++h) {
    const auto at = static_cast<size_t>(slot * rows.n_sub + b * per_block + h);
    uint8_t value = rows.sc[at];
    if constexpr (s.has_min() && per_block == 2) value = static_cast<uint8_t>(value | rows.mn[at] << 4);
    if constexpr (s.has_min() && per_block == 1) scales[16 + slot] = rows.mn[at];
    scales[16 * h + slot] = value;
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
  for (int64_t b = 0; b < k / kBlock; ++b, out += kBlock) {
    const BlockPlace place = block_place(s, b);
    const BlockScales of = read_block_scales<kLayout>(group + place.scales, group + place.super, r);
    for (int e = 0; e < kBlock; ++e) {
      const int code = read_code<kLayout>(group + place.codes, e / 4, 4 * r + e % 4);
      const float product = of.scale[e / 16] * static_cast<float>(code - (s.has_min() ? 0 : s.zero));
      if constexpr (s.has_min()) {
        out[e] = product + of.min[e / 16];
      } else {
        out[e] = product;
      }
    }
  }
}

struct CodeLayout {
  int32_t layout;
  void (*pack)(const RowCodes& rows, int64_t n_rows, uint8_t* group);
  void (*unpack)(const uint8_t* group, int64_t r, int64_t k, float* out);
};
#define INGLE_LAYOUT(name, layout) {layout, pack_codes<layout>, unpack_codes<layout>},
constexpr CodeLayout kCodeLayouts[] = {INGLE_CODE_ROWS(INGLE_LAYOUT)};
#undef INGLE_LAYOUT
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
