// Rows of activations: as f32 and as 8-bit codes, and what the codes leave over.
#include <algorithm>

#include "backends/cpu/program.h"
#include "core/checked_math.h"

namespace ingle::backends {

void ActivationBuffer::allocate(const Allocator& allocator, int64_t max_rows, int64_t width, bool quantised) {
  // One more cache line per row, so that rows do not share the same sets of the first-level cache.
  const int64_t ldf = round_up(width, 16) + 16, ldq = round_up(width, 64) + 64,
                ldb = round_up(ceil_div(width, 32), 16);
  const int64_t f = max_rows * ldf * 4, q = quantised ? max_rows * ldq : 0,
                d = quantised ? max_rows * ldb * 4 : 0;
  memory = Buffer(allocator, static_cast<size_t>(f + q + 3 * d + 64));
  std::byte* at = memory.data();
  view = {max_rows, width, reinterpret_cast<float*>(at), ldf, nullptr, ldq, nullptr, nullptr, ldb};
  if (!quantised) return;
  view.q = reinterpret_cast<int8_t*>(at + f);
  view.d = reinterpret_cast<float*>(at + f + round_up(q, 64));
  view.sum = reinterpret_cast<int32_t*>(at + f + round_up(q, 64) + d);
}

kernels::Activations ActivationBuffer::rows(int64_t first, int64_t m, int64_t k) const {
  kernels::Activations a = view;
  a.m = m;
  a.k = k;
  a.f += first * a.ldf;
  if (!a.q) return a;
  a.q += first * a.ldq;
  a.d += first * a.ldb;
  a.sum += 2 * first * a.ldb;
  return a;
}

void ActivationBuffer::quantise(const kernels::VecRow& vec, int64_t r, int64_t column, int64_t n,
                                const float* values) const {
  const int64_t block = r * view.ldb + column / 32;
  vec.quantize_q8(values, n, const_cast<int8_t*>(view.q) + r * view.ldq + column,
                  const_cast<float*>(view.d) + block, const_cast<int32_t*>(view.sum) + 2 * block);
}

void ActivationBuffer::quantise_rest(const kernels::VecRow& vec, int64_t r, const ActivationBuffer& from,
                                     int64_t from_row, int64_t column, int64_t n, const float* values) const {
  const int8_t* q = from.view.q + from_row * from.view.ldq + column;
  const float* d = from.view.d + from_row * from.view.ldb + column / 32;
  float* rest = row(r) + column;
  for (int64_t block = 0; block < n; block += 32)
    for (int64_t i = block; i < std::min(block + 32, n); ++i)
      rest[i] = values[i] - d[block / 32] * static_cast<float>(q[i]);
  quantise(vec, r, column, n, rest);
}

}  // namespace ingle::backends
