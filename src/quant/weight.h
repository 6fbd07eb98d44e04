// Weights as their files hold them. A format is one object: how its parts are laid out, how a row decodes,
// and, where it can, how a row encodes.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/tensor.h"

namespace ingle::quant {

struct QuantWeight;

struct QuantFormat {
  std::string_view name;  // "q4_k": also the name that kernels match
  DTypeInfo dtype;        // block geometry and the ids in containers
  double bits_per_weight;

  // Decodes rows [row, row + n) of `w` to f32, n * K values row after row. Bit-equal to the format's
  // reference.
  void (*decode_rows)(const QuantWeight& w, int64_t row, int64_t n, float* out);
  // Encodes one row of k values (k divides by the block) into k / block_elems blocks; null when the format
  // does not encode. `importance` is k non-negative weights of the squared error, or null.
  void (*encode_row)(const float* x, int64_t k, const float* importance, std::byte* out);
};

// One or several parts (blocks; or packed, scales, zeros, order), so that formats of every container fit.
struct QuantWeight {
  static constexpr size_t kMaxParts = 6;
  const QuantFormat* format = nullptr;
  std::array<TensorView, kMaxParts> parts{};
  Shape shape;        // [rows, K] of the decoded matrix
  int32_t group = 0;  // format-specific parameter; unused by block formats
  int64_t rows() const { return shape.rows(); }
  int64_t cols() const { return shape.back(); }
};

// The catalog: every format, plain types (f32, f16, bf16, …) included, in the order of docs.
std::span<const QuantFormat* const> all_formats();
const QuantFormat* find_format(DType type);             // null when unknown
const QuantFormat* find_format(std::string_view name);  // null when unknown
const DTypeTable& dtype_table();

// A one-part weight over a tensor. Throws Code::unsupported naming the type when the catalog lacks it.
QuantWeight block_weight(const TensorView& tensor, std::string_view tensor_name);

}  // namespace ingle::quant
