// The loops over a whole vocabulary that every token pays for, in this processor's widest vectors. The order
// of the arithmetic is fixed, and no multiplication is fused with an addition, so the bits are the same in
// all of them.
#pragma once
#include <cstddef>

namespace ingle::sampling {

struct RowLoops {
  // The largest value; `bad` becomes true where one is NaN or +inf, and the result is then nothing.
  float (*max)(const float* row, size_t n, bool& bad);
  // The first place of a value; n where it is not there.
  size_t (*find)(const float* row, size_t n, float value);
  // The sum of e^(row[i] - max), max being the largest value.
  double (*sum_of_exps)(const float* row, size_t n, float max);
};

RowLoops plain_row_loops();
RowLoops row_loops();  // of this processor

}  // namespace ingle::sampling
