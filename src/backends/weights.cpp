#include "backends/weights.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace ingle::backends {
namespace {

formats::TensorInfo slice_of(const PlanWeight& w) {
  formats::TensorInfo slice = *w.tensor;
  const int64_t rows = w.tensor->shape.rows();
  const uint64_t row_bytes = w.tensor->bytes / static_cast<uint64_t>(std::max<int64_t>(rows, 1));
  slice.shape = {w.slice_rows, w.tensor->shape.back()};
  slice.offset += static_cast<uint64_t>(w.first_row) * row_bytes;
  slice.bytes = static_cast<uint64_t>(w.slice_rows) * row_bytes;
  return slice;
}

template <class T>
void turn(const std::byte* from, int64_t width, const PlanWeight& w, std::vector<std::byte>& out) {
  out.resize(static_cast<size_t>(w.rows * w.cols) * sizeof(T));
  for (int64_t c = 0; c < w.cols; ++c)
    for (int64_t r = 0; r < w.rows; ++r)
      std::memcpy(out.data() + static_cast<size_t>(r * w.cols + c) * sizeof(T),
                  from + static_cast<size_t>(c * width + w.source_row(r)) * sizeof(T), sizeof(T));
}

}  // namespace

quant::QuantWeight open_weight(const formats::Checkpoint& file, const PlanWeight& w,
                               std::vector<std::byte>& scratch) {
  const formats::TensorInfo slice = w.slice_rows ? slice_of(w) : *w.tensor;
  const quant::QuantWeight stored = quant::block_weight(file.view(slice, scratch), slice.name);
  if (!w.transposed) return stored;
  std::vector<std::byte> turned;
  const std::byte* from = stored.parts[0].data;
  const DTypeInfo& type = stored.format->dtype;
  if (type.block_elems == 1 && type.block_bytes == 4)
    turn<uint32_t>(from, slice.shape.back(), w, turned);
  else if (type.block_elems == 1 && type.block_bytes == 2)
    turn<uint16_t>(from, slice.shape.back(), w, turned);
  else
    fail(Code::unsupported, file.name() + ", tensor " + slice.name,
         format("blocks of {} cannot be turned into columns", stored.format->name));
  scratch = std::move(turned);
  return quant::block_weight({slice.type, {w.rows, w.cols}, scratch.data(), scratch.size()}, slice.name);
}

void forget_weight(const formats::Checkpoint& file, const PlanWeight& w) {
  file.forget(w.slice_rows ? slice_of(w) : *w.tensor);
}

void forget_rows(const formats::Checkpoint& file, const PlanWeight& w, int64_t row0, int64_t row1) {
  if (w.transposed || !w.in_order()) return;
  formats::TensorInfo part = w.slice_rows ? slice_of(w) : *w.tensor;
  const int64_t rows = part.shape.rows();
  if (rows == 0) return;
  const uint64_t row_bytes = part.bytes / static_cast<uint64_t>(rows);
  part.shape = {row1 - row0, part.shape.back()};
  part.offset += static_cast<uint64_t>(row0) * row_bytes;
  part.bytes = static_cast<uint64_t>(row1 - row0) * row_bytes;
  file.forget(part);
}

}  // namespace ingle::backends
