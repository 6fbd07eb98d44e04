// Shapes and non-owning views of tensors.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/dtypes.h"

namespace ingle {

// Row-major, outermost dimension first: a weight is [out, in], experts are [expert, out, in]. At most 4
// dimensions.
class Shape {
 public:
  static constexpr int kMaxRank = 4;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  int64_t back() const { return rank_ ? dims_[static_cast<size_t>(rank_ - 1)] : 1; }
  int64_t elements() const;  // the product; 1 for a scalar. Parsers have checked that it fits
  int64_t rows() const { return back() ? elements() / back() : 0; }  // all dimensions but the last
  void push_back(int64_t dim);                                       // throws Code::unsupported past kMaxRank
  bool operator==(const Shape&) const = default;
  std::string text() const;  // "[32, 64]"

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

struct TensorView {
  DType type = DType::f32;
  Shape shape;
  const std::byte* data = nullptr;  // never owned; contiguous, may be unaligned
  uint64_t bytes = 0;
};

}  // namespace ingle
