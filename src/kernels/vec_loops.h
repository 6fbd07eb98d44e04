// Walking a row by 16 lanes. A unit includes one of the vec_lanes headers before this.
#pragma once
#include <stdint.h>

namespace ingle::kernels {
namespace {

// Calls f(offset, count) for each 16 of n; the last count may be short.
template <class F>
INGLE_LANE void for_lanes(int64_t n, F f) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) f(i, 16);
  if (i < n) f(i, n - i);
}
INGLE_LANE V get(const float* p, int64_t count) { return count == 16 ? load(p) : load_n(p, count); }
INGLE_LANE void put(float* p, V v, int64_t count) {
  if (count == 16) {
    store(p, v);
  } else {
    store_n(p, v, count);
  }
}

}  // namespace
}  // namespace ingle::kernels
