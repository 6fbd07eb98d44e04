// Half a tile of attention state, read and written value by value.
#pragma once
#include "kv/state.h"

namespace ingle::backends {

// The n values of each of a page's tokens, for one layer and kv head: keys as [n][32], values as [32][n].
struct StateTile {
  kv::StateType type;
  std::byte* base;
  int64_t n;
  bool keys;

  // Value i of a token, to be multiplied by the token's scale.
  float value(int64_t slot, int64_t i) const;
  // 1 for all types but q8, and values of q4.
  float scale(int64_t slot) const;
  // Of keys of q8 the center is taken, unless it is null, and what is left is turned; values of q4 are
  // turned. Not for keys of q4.
  void store(int64_t slot, const float* x, const float* center) const;
  // All keys of a page of q4, of what its tail holds.
  void close(const StateTile& fine) const;

 private:
  bool is_q4() const { return type == kv::StateType::q4; }
  int64_t row_bytes() const { return kv::q4_row_bytes(keys ? kv::kPageTokens : n); }
  int q4_code(int64_t slot, int64_t i) const;
  void set_q4_code(int64_t slot, int64_t i, float code) const;
  float half_at(int64_t at) const;
  void store_q4_values(int64_t slot, const float* x) const;
  int64_t place(int64_t slot, int64_t i) const { return keys ? i * kv::kPageTokens + slot : slot * n + i; }
  void store_codes(int64_t slot, const float* x) const;
};

// Multiplies runs of values by the Hadamard matrix of their length over its square root, as 8-bit state does
// with keys and queries. A run is the largest power of two that divides n, up to 256.
void turn(float* x, int64_t n);

}  // namespace ingle::backends
