#include "core/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ingle {
namespace {

// table[0] advances by one byte; table[k] by one byte and k zero bytes after it, so eight bytes take eight
// look-ups that do not wait for each other (Kounavis and Berry 2005).
struct CrcTables {
  uint32_t table[8][256];
  constexpr CrcTables() : table() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0);
      table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; ++i)
      for (int k = 1; k < 8; ++k) table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 0xFF];
  }
};
constexpr CrcTables kCrc;

constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const std::byte* p) {
  return std::to_integer<uint32_t>(p[0]) << 24 | std::to_integer<uint32_t>(p[1]) << 16 |
         std::to_integer<uint32_t>(p[2]) << 8 | std::to_integer<uint32_t>(p[3]);
}

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) noexcept {
  static_assert(std::endian::native == std::endian::little);
  const auto& t = kCrc.table;
  uint32_t crc = ~before;
  const std::byte* p = bytes.data();
  size_t n = bytes.size();
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, p, 8);
    word ^= crc;
    crc = t[7][word & 0xFF] ^ t[6][word >> 8 & 0xFF] ^ t[5][word >> 16 & 0xFF] ^ t[4][word >> 24 & 0xFF] ^
          t[3][word >> 32 & 0xFF] ^ t[2][word >> 40 & 0xFF] ^ t[1][word >> 48 & 0xFF] ^ t[0][word >> 56];
  }
  for (; n > 0; ++p, --n) crc = (crc >> 8) ^ t[0][(crc ^ std::to_integer<uint32_t>(*p)) & 0xFF];
  return ~crc;
}

uint64_t checksum64(std::span<const std::byte> bytes) noexcept {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t kOdd[4] = {0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                                0xD6E8FEB86659FD93};
  constexpr int kTurn = 29;  // brings the high bits, which a product leaves at the top, down again
  uint64_t chain[4] = {kOdd[3], kOdd[2], kOdd[1], kOdd[0]};
  const auto take = [&](const std::byte* from) {
    for (int i = 0; i < 4; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, from + 8 * i, 8);
      chain[i] = std::rotl((chain[i] ^ word) * kOdd[i], kTurn);
    }
  };
  const std::byte* p = bytes.data();
  size_t n = bytes.size();
  for (; n >= 32; p += 32, n -= 32) take(p);
  if (n > 0) {
    std::byte rest[32] = {};
    std::memcpy(rest, p, n);
    take(rest);
  }
  uint64_t sum = static_cast<uint64_t>(bytes.size());  // zeros at the end count too
  for (int i = 0; i < 4; ++i) sum = std::rotl((sum ^ chain[i]) * kOdd[i], kTurn);
  return sum ^ sum >> 32;
}

Sha256::Sha256() noexcept
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {
}

void Sha256::block(const std::byte* bytes) noexcept {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = big_endian(bytes + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t b = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int i = 0; i < 64; ++i) {
    const uint32_t one =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t two =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += sums[i];
}

Sha256& Sha256::add(std::span<const std::byte> bytes) noexcept {
  n_bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (n_pending_ == 0 && bytes.size() >= 64) {
      block(bytes.data());
      bytes = bytes.subspan(64);
      continue;
    }
    const size_t n = std::min(bytes.size(), 64 - n_pending_);
    std::memcpy(pending_.data() + n_pending_, bytes.data(), n);
    bytes = bytes.subspan(n);
    n_pending_ = (n_pending_ + n) % 64;
    if (n_pending_ == 0) block(pending_.data());
  }
  return *this;
}

Digest Sha256::finish() noexcept {
  std::byte tail[72] = {std::byte{0x80}};
  const size_t zeros = (119 - n_pending_) % 64;  // up to where eight bytes are left of a block
  const uint64_t bits = n_bytes_ * 8;
  for (int i = 0; i < 8; ++i)
    tail[1 + zeros + static_cast<size_t>(i)] = static_cast<std::byte>(bits >> (56 - 8 * i));
  add(std::span(tail, 1 + zeros + 8));
  Digest out;
  for (size_t i = 0; i < 32; ++i) out[i] = static_cast<std::byte>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

Digest sha256(std::span<const std::byte> bytes) noexcept { return Sha256().add(bytes).finish(); }

}  // namespace ingle
