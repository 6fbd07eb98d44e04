// Makes a QuantFormat or a CodeFormat out of functions over one block.
#pragma once
#include <string_view>

#include "quant/blocks.h"
#include "quant/catalog.h"
#include "quant/encode.h"

namespace ingle::quant {

// Block types of GGUF take their DType from their number there; formats of other containers begin at 1024.
constexpr DType ggml_dtype(int32_t ggml_id) {
  return static_cast<DType>(static_cast<int32_t>(DType::first_quantised) + ggml_id);
}

// Blocks are bytes through and through (blocks.h), so they may be read where the file has them.
template <class Block, int kElems>
const Block* block_row(const QuantWeight& w, int64_t row) {
  static_assert(alignof(Block) == 1);
  const auto* blocks = reinterpret_cast<const Block*>(w.parts[0].data);
  return blocks + row * (w.cols() / kElems);
}

template <class Block, int kElems, void (*kDecode)(const Block&, float*)>
void decode_block_rows(const QuantWeight& w, int64_t row, int64_t n, float* out) {
  const Block* b = block_row<Block, kElems>(w, row);
  const int64_t n_blocks = n * (w.cols() / kElems);
  for (int64_t i = 0; i < n_blocks; ++i) kDecode(b[i], out + i * kElems);
}

// `importance` of a block, or null.
template <class Block, int kElems, void (*kEncode)(const float*, const float*, Block&)>
void encode_block_row(const float* x, int64_t k, const float* importance, std::byte* out) {
  check_encodable(x, k, kElems);
  auto* blocks = reinterpret_cast<Block*>(out);
  for (int64_t i = 0; i < k / kElems; ++i) {
    kEncode(x + i * kElems, importance ? importance + i * kElems : nullptr, blocks[i]);
  }
}

template <class Block, int kElems, void (*kDecode)(const Block&, float*),
          void (*kEncode)(const float*, const float*, Block&) = nullptr>
constexpr QuantFormat block_format(std::string_view name, int32_t ggml_id) {
  QuantFormat f{};
  f.name = name;
  f.dtype = {ggml_dtype(ggml_id), name, kElems, sizeof(Block), ggml_id, ""};
  f.bits_per_weight = 8.0 * sizeof(Block) / kElems;
  f.decode_rows = decode_block_rows<Block, kElems, kDecode>;
  if constexpr (kEncode != nullptr) f.encode_row = encode_block_row<Block, kElems, kEncode>;
  return f;
}

// What a format with an integer-code view says of itself: the constants of CodeFormat, the two functions that
// read a block's scales, and kElems, the block's elements.
//   struct Codes { using Block; static constexpr int kElems, kBits, kSubBlock, kZero; static constexpr bool
//   kHasMin, kHasSubScales; static void scales(const Block&, float* scale, float* min); static void raw(const
//   Block&, RawScales);} and, by way of CodesBase, what most formats do not say.
struct CodesBase {
  static constexpr int kScaleBlock = 0;  // 0: a block has one scale
  static constexpr bool kBf16Scales = false, kHasMin = false, kHasSubScales = false;
  static constexpr float kUnit = 1;
  static constexpr const uint8_t* kTable = nullptr;
  static constexpr int kTableSize = 0;
};
template <class Codes>
constexpr int scale_block() {
  return Codes::kScaleBlock ? Codes::kScaleBlock : Codes::kElems;
}

// A block's codes: Codes::unpack where there is one, else the function of blocks.h.
template <class Codes>
void unpack_block(const typename Codes::Block* b, uint8_t* codes) {
  if constexpr (requires { Codes::unpack(b, codes); }) {
    Codes::unpack(b, codes);
  } else {
    unpack_codes(b, codes);
  }
}

template <class Codes>
void codes_row(const QuantWeight& w, int64_t row, uint8_t* codes, float* scale, float* min) {
  const auto* b = block_row<typename Codes::Block, Codes::kElems>(w, row);
  constexpr int kSubs = Codes::kElems / Codes::kSubBlock;
  for (int64_t i = 0; i < w.cols() / Codes::kElems; ++i) {
    unpack_block<Codes>(b + i, codes + i * Codes::kElems);
    if (scale) Codes::scales(b[i], scale + i * kSubs, Codes::kHasMin ? min + i * kSubs : nullptr);
  }
}

template <class Codes>
void raw_scales_row(const QuantWeight& w, int64_t row, RawScales* out) {
  const auto* b = block_row<typename Codes::Block, Codes::kElems>(w, row);
  constexpr int kSubs = Codes::kElems / Codes::kSubBlock, kUnits = Codes::kElems / scale_block<Codes>();
  const auto at = [](auto* p, int64_t i) { return p ? p + i : nullptr; };
  for (int64_t i = 0; i < w.cols() / Codes::kElems; ++i) {
    Codes::raw(b[i], {at(out->d, i * kUnits), at(out->m, i * kUnits), at(out->sc, i * kSubs),
                      at(out->mn, i * kSubs)});
  }
}

template <class Codes>
constexpr CodeFormat code_format(std::string_view format) {
  return {format,
          Codes::kBits,
          Codes::kSubBlock,
          scale_block<Codes>(),
          Codes::kZero,
          Codes::kHasMin,
          Codes::kHasSubScales,
          Codes::kBf16Scales,
          Codes::kUnit,
          Codes::kTable,
          Codes::kTableSize,
          codes_row<Codes>,
          raw_scales_row<Codes>};
}

// Decodes a block through its codes: one formula for every such format, so the two views cannot differ.
template <class Codes>
void decode_codes(const typename Codes::Block& b, float* out) {
  constexpr int kSub = Codes::kSubBlock;
  uint8_t codes[Codes::kElems];
  float scale[Codes::kElems / kSub], min[Codes::kElems / kSub];
  unpack_block<Codes>(&b, codes);
  Codes::scales(b, scale, min);
  for (int j = 0; j < Codes::kElems / kSub; ++j) {
    for (int i = j * kSub; i < (j + 1) * kSub; ++i) {
      const float v = scale[j] * static_cast<float>(codes[i] - Codes::kZero);
      if constexpr (Codes::kHasMin) {
        out[i] = v + min[j];
      } else {
        out[i] = v;
      }
    }
  }
}

// Legacy blocks: one f16 scale (and, with kMin, one f16 min) per 32 elements.
template <class B, int kCodeBits, int kZeroPoint, bool kMin>
struct LegacyCodes : CodesBase {
  using Block = B;
  static constexpr int kElems = 32, kBits = kCodeBits, kSubBlock = 32, kZero = kZeroPoint;
  static constexpr bool kHasMin = kMin, kHasSubScales = false;
  static void scales(const Block& b, float* scale, float* min) {
    scale[0] = load_half(b.d);
    if constexpr (kMin) min[0] = load_half(b.m);
  }
  static void raw(const Block& b, RawScales out) {
    if (out.d) *out.d = load_u16(b.d);
    if constexpr (kMin) {
      if (out.m) *out.m = load_u16(b.m);
    }
  }
};

// One f16 scale per block, and nothing else, over codes that are told by `kValues`.
template <class B, int kBlock, int kCodeBits, int kZeroPoint>
struct UnitCodes : CodesBase {
  using Block = B;
  static constexpr int kElems = kBlock, kBits = kCodeBits, kSubBlock = 32, kZero = kZeroPoint;
  static void scales(const Block& b, float* scale, float*) {
    for (int j = 0; j < kElems / kSubBlock; ++j) scale[j] = load_half(b.d);
  }
  static void raw(const Block& b, RawScales out) {
    if (out.d) *out.d = load_u16(b.d);
  }
};

// int8 scales under one f16 unit; `Own::sub_scale(b, j)` tells the j-th.
template <class Own, class B, int kSub>
struct ByteScaledCodes : CodesBase {
  using Block = B;
  static constexpr int kElems = 256, kSubBlock = kSub;
  static constexpr bool kHasSubScales = true;
  static void scales(const Block& b, float* scale, float*) {
    const float d = load_half(b.d);
    for (int j = 0; j < kElems / kSubBlock; ++j)
      scale[j] = d * static_cast<float>(Own::sub_scale(b, j)) * Own::kUnit;
  }
  static void raw(const Block& b, RawScales out) {
    if (out.d) *out.d = load_u16(b.d);
    for (int j = 0; j < kElems / kSubBlock && out.sc; ++j)
      out.sc[j] = static_cast<uint8_t>(Own::sub_scale(b, j));
  }
};

// Q4_K and Q5_K: 6-bit scales and mins per 32 elements over two f16 units.
template <class B, int kCodeBits>
struct K4Codes : CodesBase {
  using Block = B;
  static constexpr int kElems = 256, kBits = kCodeBits, kSubBlock = 32, kZero = 0;
  static constexpr bool kHasMin = true, kHasSubScales = true;
  static void scales(const Block& b, float* scale, float* min) {
    uint8_t sc[8], mn[8];
    unpack_k4_scales(b.s, sc, mn);
    const float d = load_half(b.d), m = load_half(b.m);
    for (int j = 0; j < 8; ++j) {
      scale[j] = d * sc[j];
      min[j] = -(m * mn[j]);
    }
  }
  static void raw(const Block& b, RawScales out) {
    uint8_t sc[8], mn[8];
    unpack_k4_scales(b.s, sc, mn);
    if (out.d) *out.d = load_u16(b.d);
    if (out.m) *out.m = load_u16(b.m);
    for (int j = 0; j < 8 && out.sc; ++j) out.sc[j] = sc[j];
    for (int j = 0; j < 8 && out.mn; ++j) out.mn[j] = mn[j];
  }
};

}  // namespace ingle::quant
