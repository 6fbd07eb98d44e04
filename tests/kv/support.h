// What the tests of this room share: an allocator that counts and can fail, and access to single positions.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "core/error.h"
#include "kv/state.h"
#include "support/catch.h"

namespace ingle::kv {

struct TestAllocator {
  std::atomic<int64_t> live_bytes{0}, calls{0},
      fail_at{-1};  // fail_at: the number of the call that returns null
  Allocator get() {
    return {[](size_t bytes, size_t alignment, void* user) -> void* {
              auto& self = *static_cast<TestAllocator*>(user);
              if (self.calls++ == self.fail_at) return nullptr;
              void* memory = system_allocator().allocate(bytes, alignment, nullptr);
              self.live_bytes += static_cast<int64_t>(bytes);
              std::memset(memory, 0xff, bytes);  // NaN in every type: nobody may count on fresh memory
              return memory;
            },
            [](void* memory, size_t bytes, void* user) {
              static_cast<TestAllocator*>(user)->live_bytes -= static_cast<int64_t>(bytes);
              system_allocator().release(memory, bytes, nullptr);
            },
            this};
  }
};

inline PartSpec full_part(StateType type = StateType::f16) {
  return {
      .kind = PartKind::pages, .type = type, .n_layers = 2, .n_kv_heads = 2, .dk = 4, .dv = 3, .window = 0};
}
inline PartSpec window_part(int64_t window, StateType type = StateType::f32) {
  return {.kind = PartKind::window,
          .type = type,
          .n_layers = 1,
          .n_kv_heads = 2,
          .dk = 2,
          .dv = 5,
          .window = window};
}

// What goes with a part of 4-bit state.
inline PartSpec tail_part() {
  return {.kind = PartKind::tail, .type = StateType::f16, .n_layers = 2, .n_kv_heads = 2, .dk = 4, .dv = 0};
}

inline size_t element_bytes(const PartSpec& p) {
  if (p.type == StateType::q4) return 1;
  return p.type == StateType::f32 ? 4 : p.type == StateType::q8 ? 1 : 2;
}
// The first position of a part that a query at `length` sees.
inline int64_t seen_from(const PartSpec& p, int64_t length) {
  if (p.kind == PartKind::tail) return length / kPageTokens * kPageTokens;
  return p.kind == PartKind::window ? std::max<int64_t>(0, length - p.window + 1) : 0;
}

// Of 4-bit state: the keys of a page are all its last position's.
template <class F>
void for_each_byte_q4(const PartSpec& p, std::byte* page, int64_t slot, F f) {
  uint32_t n = 0;
  const int64_t row = q4_row_bytes(p.dv);
  for (int64_t layer = 0; layer < p.n_layers; ++layer)
    for (int64_t head = 0; head < p.n_kv_heads; ++head) {
      std::byte *const keys = page + p.k_offset(layer, head), *const values = page + p.v_offset(layer, head);
      if (slot + 1 == kPageTokens)
        for (std::byte* at = keys; at != values; ++at) f(at, n++);
      for (int64_t i = 0; i < row; ++i) f(values + slot * row + i, n++);
      for (int64_t i = 0; i < 2; ++i) f(values + kPageTokens * row + 2 * slot + i, n++);
    }
}

// Calls f(bytes of one element, number) for every element that belongs to one position of a page.
template <class F>
void for_each_element(const PartSpec& p, std::byte* page, int64_t slot, F f) {
  if (p.type == StateType::q4) return for_each_byte_q4(p, page, slot, f);
  const auto e = static_cast<int64_t>(element_bytes(p));
  uint32_t n = 0;
  for (int64_t layer = 0; layer < p.n_layers; ++layer) {
    for (int64_t head = 0; head < p.n_kv_heads; ++head) {
      for (int64_t d = 0; d < p.dk; ++d)
        f(page + p.k_offset(layer, head) + (d * kPageTokens + slot) * e, n++);
      for (int64_t d = 0; d < p.dv; ++d) f(page + p.v_offset(layer, head) + (slot * p.dv + d) * e, n++);
      if (p.type != StateType::q8) continue;
      for (const int64_t scales :
           {p.k_offset(layer, head) + p.dk * kPageTokens, p.v_offset(layer, head) + p.dv * kPageTokens})
        for (int64_t byte = 0; byte < 2; ++byte) f(page + scales + 2 * slot + byte, n++);
    }
  }
}

inline void write_position(const SequenceState& s, size_t part, const PartSpec& p, int64_t pos,
                           uint32_t value) {
  std::byte* page = s.pages(part)[static_cast<size_t>(pos / kPageTokens)];
  REQUIRE(page != nullptr);
  for_each_element(p, page, pos % kPageTokens, [&](std::byte* at, uint32_t n) {
    const uint32_t v = value * 2654435761u + n;
    std::memcpy(at, &v, element_bytes(p));
  });
}

inline bool holds(const SequenceState& s, size_t part, const PartSpec& p, int64_t pos, uint32_t value) {
  std::byte* page = s.pages(part)[static_cast<size_t>(pos / kPageTokens)];
  if (!page) return false;
  bool ok = true;
  for_each_element(p, page, pos % kPageTokens, [&](std::byte* at, uint32_t n) {
    const uint32_t v = value * 2654435761u + n;
    ok &= std::memcmp(at, &v, element_bytes(p)) == 0;
  });
  return ok;
}

inline bool is_zero(const SequenceState& s, size_t part, const PartSpec& p, int64_t pos) {
  bool ok = true;
  for_each_element(p, s.pages(part)[static_cast<size_t>(pos / kPageTokens)], pos % kPageTokens,
                   [&](std::byte* at, uint32_t) {
                     const uint32_t zero = 0;
                     ok &= std::memcmp(at, &zero, element_bytes(p)) == 0;
                   });
  return ok;
}

// Reserves, writes `value` for each new position in every part, commits.
inline void extend(SequenceState& s, const StatePool& pool, int64_t n, uint32_t value) {
  s.reserve(n);
  for (size_t i = 0; i < pool.parts().size(); ++i)
    for (int64_t p = s.length(); p < s.length() + n; ++p) write_position(s, i, pool.parts()[i], p, value);
  s.commit(n);
}

template <class F>
Error error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  FAIL("expected an error");
  return Error(Code::ok, "", "");
}

}  // namespace ingle::kv
