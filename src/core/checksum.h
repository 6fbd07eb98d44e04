// Checksums of bytes that come back from a file: CRC-32C for damage (or, where there is much to read, a sum
// of words), SHA-256 where bytes name something.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace ingle {

// CRC-32C (Castagnoli, RFC 3720). Go on from an earlier piece by giving its result.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0) noexcept;

// For damage in large data, at the speed of memory: an invertible step for each word of 8 bytes, in four
// chains that do not wait for each other. A change within one word is always found.
uint64_t checksum64(std::span<const std::byte> bytes) noexcept;

using Digest = std::array<std::byte, 32>;

// SHA-256 (FIPS 180-4), piece by piece.
class Sha256 {
 public:
  Sha256() noexcept;
  Sha256& add(std::span<const std::byte> bytes) noexcept;
  template <class T>
  Sha256& add_value(const T& value) noexcept {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);  // what has no padding
    return add(std::as_bytes(std::span(&value, 1)));
  }
  Digest finish() noexcept;  // once

 private:
  void block(const std::byte* bytes) noexcept;
  std::array<uint32_t, 8> state_;
  std::array<std::byte, 64> pending_{};
  size_t n_pending_ = 0;
  uint64_t n_bytes_ = 0;
};
Digest sha256(std::span<const std::byte> bytes) noexcept;

}  // namespace ingle
