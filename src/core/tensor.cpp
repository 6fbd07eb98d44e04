#include "core/tensor.h"

#include "core/error.h"

namespace ingle {

Shape::Shape(std::initializer_list<int64_t> dims) {
  for (const int64_t d : dims) push_back(d);
}

void Shape::push_back(int64_t dim) {
  if (rank_ == kMaxRank) fail(Code::unsupported, "shape", format("more than {} dimensions", kMaxRank));
  dims_[static_cast<size_t>(rank_++)] = dim;
}

int64_t Shape::elements() const {
  int64_t n = 1;
  for (int i = 0; i < rank_; ++i) n *= (*this)[i];
  return n;
}

std::string Shape::text() const {
  std::string out = "[";
  for (int i = 0; i < rank_; ++i) out += (i ? ", " : "") + std::to_string((*this)[i]);
  return out + "]";
}

}  // namespace ingle
