#include "core/random.h"

namespace ingle {
namespace {

struct HiLo {
  uint32_t hi, lo;
};

constexpr HiLo multiply(uint32_t a, uint32_t b) {
  const uint64_t product = uint64_t{a} * b;
  return {static_cast<uint32_t>(product >> 32), static_cast<uint32_t>(product)};
}

}  // namespace

std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high) noexcept {
  // The multipliers and the Weyl increments (golden ratio, sqrt(3) - 1) of the paper's section 4.3.
  constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
                               static_cast<uint32_t>(counter_high),
                               static_cast<uint32_t>(counter_high >> 32)};
  uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const HiLo p0 = multiply(kMultiplier0, c[0]), p1 = multiply(kMultiplier1, c[2]);
    c = {p1.hi ^ c[1] ^ key0, p1.lo, p0.hi ^ c[3] ^ key1, p0.lo};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return c;
}

float uniform(uint64_t seed, uint64_t n) noexcept {
  // One block per number and only its first word: n stays the position in the stream, with no remainder to
  // carry.
  return static_cast<float>(philox4x32(seed, n)[0] >> 8) * 0x1p-24F;
}

}  // namespace ingle
