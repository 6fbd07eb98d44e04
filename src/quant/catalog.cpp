#include "quant/catalog.h"

#include <algorithm>

#include "core/checked_math.h"
#include "core/error.h"

namespace ingle::quant {
namespace {

#define INGLE_ADDRESS(name) &name,
constexpr const QuantFormat* kFormats[] = {INGLE_QUANT_FORMATS(INGLE_ADDRESS)};
constexpr const CodeFormat* kCodeFormats[] = {INGLE_CODE_FORMATS(INGLE_ADDRESS)};
#undef INGLE_ADDRESS
constexpr size_t kCount = std::size(kFormats);

using DTypeRows = std::array<DTypeInfo, kCount>;
DTypeRows dtype_rows() {
  DTypeRows rows{};
  for (size_t i = 0; i < kCount; ++i) rows[i] = kFormats[i]->dtype;
  return rows;
}

// Null pointer, or the first of `list` that matches.
template <class T, size_t n, class Match>
const T* first_of(const T* const (&list)[n], Match match) {
  const auto* it = std::find_if(std::begin(list), std::end(list), [&](const T* f) { return match(*f); });
  return it == std::end(list) ? nullptr : *it;
}

std::optional<uint64_t> bytes_of_shape(const DTypeInfo& info, const Shape& shape) {
  uint64_t elements = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    const auto product = shape[i] < 0 ? std::nullopt : checked_mul(elements, static_cast<uint64_t>(shape[i]));
    if (!product) return std::nullopt;
    elements = *product;
  }
  if (static_cast<uint64_t>(shape.back()) % info.block_elems != 0) return std::nullopt;
  return bytes_of(info, elements);
}

}  // namespace

std::span<const QuantFormat* const> all_formats() { return kFormats; }

const QuantFormat* find_format(DType type) {
  return first_of(kFormats, [&](const QuantFormat& f) { return f.dtype.type == type; });
}
const QuantFormat* find_format(std::string_view name) {
  return first_of(kFormats, [&](const QuantFormat& f) { return f.name == name; });
}
const CodeFormat* find_codes(const QuantFormat& format) {
  return first_of(kCodeFormats, [&](const CodeFormat& c) { return c.format == format.name; });
}

const DTypeTable& dtype_table() {
  static const DTypeRows rows = dtype_rows();
  static const DTypeTable table{rows};
  return table;
}

QuantWeight block_weight(const TensorView& tensor, std::string_view tensor_name) {
  const QuantFormat* f = find_format(tensor.type);
  if (!f) {
    fail(Code::unsupported, std::string(tensor_name),
         format("element type {} is not in the catalog of weight formats", static_cast<int>(tensor.type)));
  }
  const auto bytes = bytes_of_shape(f->dtype, tensor.shape);
  if (!bytes) {
    fail(Code::corrupt, std::string(tensor_name),
         format("shape {} does not divide into blocks of {} ({} elements along a row)", tensor.shape.text(),
                f->name, f->dtype.block_elems));
  }
  if (*bytes != tensor.bytes || (*bytes != 0 && !tensor.data)) {
    fail(Code::corrupt, std::string(tensor_name),
         format("{} bytes, expected {} for {} of {}", tensor.data ? tensor.bytes : 0, *bytes,
                tensor.shape.text(), f->name));
  }
  QuantWeight w;
  w.format = f;
  w.parts[0] = tensor;
  w.shape = tensor.shape;
  return w;
}

}  // namespace ingle::quant
