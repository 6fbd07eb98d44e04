// Arithmetic on numbers that a file or a caller gave: the result, or nothing when it does not fit.
#pragma once
#include <cstdint>
#include <optional>

namespace ingle {

constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
constexpr std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  uint64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
// `to` is a power of two.
constexpr std::optional<uint64_t> checked_round_up(uint64_t a, uint64_t to) {
  const auto sum = checked_add(a, to - 1);
  return sum ? std::optional(*sum & ~(to - 1)) : std::nullopt;
}
constexpr bool is_power_of_two(uint64_t v) { return v != 0 && (v & (v - 1)) == 0; }

// For sizes that are already known to be sane.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

}  // namespace ingle
