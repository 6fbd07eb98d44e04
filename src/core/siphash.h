// SipHash-1-3 (Aumasson and Bernstein 2012, fewer rounds): a keyed hash for tables whose keys strangers
// choose.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace ingle {

struct HashKey {
  uint64_t low = 0, high = 0;
};

class SipHash {
 public:
  explicit SipHash(HashKey key) noexcept
      : a_(key.low ^ 0x736f6d6570736575),
        b_(key.high ^ 0x646f72616e646f6d),
        c_(key.low ^ 0x6c7967656e657261),
        d_(key.high ^ 0x7465646279746573) {}
  void add(uint64_t word) noexcept {
    d_ ^= word;
    round();
    a_ ^= word;
    ++n_words_;
  }
  // Bytes, the last word of them filled up with zeros: lengths are the caller's to add.
  void add(std::span<const std::byte> bytes) noexcept {
    for (size_t at = 0; at < bytes.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, bytes.size() - at < 8 ? bytes.size() - at : 8);
      add(word);
    }
  }
  uint64_t finish() noexcept {  // once
    add(n_words_ << 56);
    c_ ^= 0xFF;
    for (int i = 0; i < 3; ++i) round();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  void round() noexcept {
    a_ += b_, b_ = std::rotl(b_, 13) ^ a_, a_ = std::rotl(a_, 32);
    c_ += d_, d_ = std::rotl(d_, 16) ^ c_;
    a_ += d_, d_ = std::rotl(d_, 21) ^ a_;
    c_ += b_, b_ = std::rotl(b_, 17) ^ c_, c_ = std::rotl(c_, 32);
  }
  uint64_t a_, b_, c_, d_, n_words_ = 0;
};

}  // namespace ingle
