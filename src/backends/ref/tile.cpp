#include "backends/ref/tile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/vec.h"

namespace ingle::backends {
namespace {

// The smallest f16 that is no less than the largest magnitude over 127; NaN when one is no number.
uint16_t scale_of(const float* x, int64_t n) {
  float largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) return 0x7e00;
    largest = std::max(largest, std::abs(x[i]));
  }
  const uint16_t scale = kernels::float_to_half(largest / 127);
  return static_cast<uint16_t>(scale + (kernels::half_to_float(scale) * 127 < largest ? 1 : 0));
}

// bfloat16 is the upper half of a float.
float bfloat_to_float(uint16_t h) {
  const uint32_t bits = uint32_t{h} << 16;
  float v;
  std::memcpy(&v, &bits, 4);
  return v;
}
uint16_t float_to_bfloat(float v) {  // to nearest, ties to even
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

// Runs of 16 values are 8 bytes: value i and value i + 8 share one.
int StateTile::q4_code(int64_t slot, int64_t i) const {
  const int64_t row = keys ? i : slot, column = keys ? slot : i;
  const auto both = std::to_integer<int>(base[row * row_bytes() + column / 16 * 8 + column % 8]);
  return (column % 16 < 8 ? both & 15 : both >> 4) - 8;
}
void StateTile::set_q4_code(int64_t slot, int64_t i, float code) const {
  const int64_t row = keys ? i : slot, column = keys ? slot : i;
  std::byte& both = base[row * row_bytes() + column / 16 * 8 + column % 8];
  const auto half = static_cast<std::byte>(std::clamp(std::nearbyint(code), -8.0f, 7.0f) + 8);
  both = column % 16 < 8 ? (both & std::byte{0xF0}) | half : (both & std::byte{0x0F}) | half << 4;
}
float StateTile::half_at(int64_t at) const {
  uint16_t h;
  std::memcpy(&h, base + at, 2);
  return kernels::half_to_float(h);
}

void StateTile::store_q4_values(int64_t slot, const float* x) const {
  float highest = -INFINITY, lowest = INFINITY;
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) {
    finite &= std::isfinite(x[i]);
    highest = std::max(highest, x[i]);
    lowest = std::min(lowest, x[i]);
  }
  const float largest = highest > -lowest ? highest : lowest;
  const uint16_t scale = finite ? kernels::float_to_half(largest / -8) : 0x7e00;
  std::memcpy(base + kv::kPageTokens * row_bytes() + 2 * slot, &scale, 2);
  const float step = kernels::half_to_float(scale), inverse = finite && step != 0 ? 1 / step : 0;
  for (int64_t i = 0; i < n; ++i) set_q4_code(slot, i, finite ? x[i] * inverse : 0);
}

void StateTile::close(const StateTile& fine) const {
  for (int64_t i = 0; i < n; ++i) {
    float highest = -INFINITY, lowest = INFINITY;
    bool finite = true;
    for (int64_t slot = 0; slot < kv::kPageTokens; ++slot) {
      const float x = fine.value(slot, i);
      finite &= std::isfinite(x);
      highest = std::max(highest, x);
      lowest = std::min(lowest, x);
    }
    const uint16_t step = finite ? kernels::float_to_half((highest - lowest) / 15) : 0x7e00;
    const float width = kernels::half_to_float(step), inverse = width > 0 ? 1 / width : 0;
    const uint16_t middle = finite ? kernels::float_to_half(lowest + 8 * width) : 0x7e00;
    std::byte* const steps = base + n * row_bytes();
    std::memcpy(steps + 2 * i, &step, 2);
    std::memcpy(steps + 2 * (n + i), &middle, 2);
    for (int64_t slot = 0; slot < kv::kPageTokens; ++slot)
      set_q4_code(slot, i, finite ? (fine.value(slot, i) - kernels::half_to_float(middle)) * inverse : 0);
  }
}

float StateTile::value(int64_t slot, int64_t i) const {
  if (is_q4()) {
    const auto code = static_cast<float>(q4_code(slot, i));
    const int64_t steps = n * row_bytes();
    return keys ? code * half_at(steps + 2 * i) + half_at(steps + 2 * (n + i)) : code;
  }
  const int64_t at = place(slot, i);
  if (type == kv::StateType::q8) return std::to_integer<int8_t>(base[at]);
  if (type == kv::StateType::f32) {
    float v;
    std::memcpy(&v, base + at * 4, 4);
    return v;
  }
  uint16_t h;
  std::memcpy(&h, base + at * 2, 2);
  return type == kv::StateType::f16 ? kernels::half_to_float(h) : bfloat_to_float(h);
}

float StateTile::scale(int64_t slot) const {
  if (is_q4() && !keys) return half_at(kv::kPageTokens * row_bytes() + 2 * slot);
  return type == kv::StateType::q8 ? half_at(n * kv::kPageTokens + 2 * slot) : 1;
}

void StateTile::store(int64_t slot, const float* x, const float* center) const {
  if (type == kv::StateType::q8) {
    std::vector<float> turned(x, x + n);
    for (int64_t i = 0; center && i < n; ++i) turned[static_cast<size_t>(i)] -= center[i];
    if (keys) turn(turned.data(), n);
    return store_codes(slot, turned.data());
  }
  if (is_q4()) {
    std::vector<float> turned(x, x + n);
    turn(turned.data(), n);
    return store_q4_values(slot, turned.data());
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = place(slot, i);
    if (type == kv::StateType::f32) {
      std::memcpy(base + at * 4, x + i, 4);
      continue;
    }
    const uint16_t h = type == kv::StateType::f16 ? kernels::float_to_half(x[i]) : float_to_bfloat(x[i]);
    std::memcpy(base + at * 2, &h, 2);
  }
}

void StateTile::store_codes(int64_t slot, const float* x) const {
  const uint16_t scale = scale_of(x, n);
  const float step = kernels::half_to_float(scale), inverse = step > 0 ? 1 / step : 0;
  std::memcpy(base + n * kv::kPageTokens + 2 * slot, &scale, 2);
  for (int64_t i = 0; i < n; ++i)
    base[place(slot, i)] =
        static_cast<std::byte>(inverse > 0 ? static_cast<int8_t>(std::nearbyint(x[i] * inverse)) : 0);
}

void turn(float* x, int64_t n) {
  const int64_t run = std::min<int64_t>(n & -n, 256);
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(run)));
  for (float* end = x + n; x != end; x += run) {
    for (int64_t half = 1; half < run; half *= 2)
      for (int64_t i = 0; i < run; ++i) {
        if (i & half) continue;
        const float low = x[i], high = x[i + half];
        x[i] = low + high;
        x[i + half] = low - high;
      }
    for (int64_t i = 0; i < run; ++i) x[i] *= factor;
  }
}

}  // namespace ingle::backends
