// The two hash tables of the encoders: open addressing, filled once at load, then read by any thread.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace ingle::text {

inline uint64_t mix64(uint64_t x) {
  x ^= x >> 32;
  x *= 0xE9846AF9B1A615D5ull;
  x ^= x >> 32;
  x *= 0xE9846AF9B1A615D5ull;
  return x ^ x >> 28;
}

inline uint64_t hash_bytes(std::string_view s) {
  const char* p = s.data();
  size_t n = s.size();
  uint64_t h = 0x9E3779B97F4A7C15ull ^ n;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, p, 8);
    h = (std::rotl(h, 27) ^ word) * 0x9FB21C651E98DF25ull;
    h ^= h >> 29;
  }
  uint64_t tail = 0;
  for (size_t i = 0; i < n; ++i) tail |= static_cast<uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
  return mix64(h ^ tail * 0xC2B2AE3D27D4EB4Full);
}

// Byte strings to ids. The strings live elsewhere: `text(id)` gives them back.
class StringTable {
 public:
  static constexpr int32_t kNone = -1;
  void reserve(size_t n) { slots_.assign(std::bit_ceil(n + n / 2 + 16), Slot{}); }
  // A string that is there already gets the new id, and the answer is false.
  template <class TextOf>
  bool insert(std::string_view s, int32_t id, const TextOf& text) {
    const uint64_t h = hash_bytes(s);
    Slot& slot = slots_[find_slot(s, h, text)];
    const bool fresh = slot.id == kNone;
    slot = {static_cast<uint32_t>(h), id};
    return fresh;
  }
  void prefetch(std::string_view s) const {
    __builtin_prefetch(&slots_[hash_bytes(s) >> 16 & (slots_.size() - 1)]);
  }
  template <class TextOf>
  int32_t find(std::string_view s, const TextOf& text) const {
    return slots_[find_slot(s, hash_bytes(s), text)].id;
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    int32_t id = kNone;
  };
  template <class TextOf>
  size_t find_slot(std::string_view s, uint64_t h, const TextOf& text) const {
    const size_t mask = slots_.size() - 1;
    size_t i = h >> 16 & mask;
    while (slots_[i].id != kNone && !(slots_[i].tag == static_cast<uint32_t>(h) && text(slots_[i].id) == s)) {
      i = (i + 1) & mask;
    }
    return i;
  }
  std::vector<Slot> slots_;
};

// 64-bit keys to a pair of 32-bit values; the key ~0 is reserved.
class PairTable {
 public:
  struct Value {
    uint32_t first = 0, second = 0;
  };
  void reserve(size_t n) { slots_.assign(std::bit_ceil(n + n / 2 + 16), Slot{}); }
  // False, and unchanged, when the key is there already.
  bool insert(uint64_t key, Value value) {
    Slot& slot = slots_[find_slot(key)];
    if (slot.key == key) return false;
    slot = {key, value};
    return true;
  }
  void set(uint64_t key, Value value) { slots_[find_slot(key)] = {key, value}; }
  const Value* find(uint64_t key) const {
    const Slot& slot = slots_[find_slot(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

 private:
  static constexpr uint64_t kEmpty = ~0ull;
  struct Slot {
    uint64_t key = kEmpty;
    Value value;
  };
  size_t find_slot(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t i = mix64(key) & mask;
    while (slots_[i].key != kEmpty && slots_[i].key != key) i = (i + 1) & mask;
    return i;
  }
  std::vector<Slot> slots_;
};

constexpr uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace ingle::text
