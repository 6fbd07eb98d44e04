// The state of sequences, in typed parts behind one interface. Layers are grouped by (kind, width, window);
// each group has one block table per sequence, and pages of 32 tokens lent from one byte budget, counted and
// copied on write.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/memory.h"

namespace ingle::kv {

constexpr int64_t kPageTokens = 32;

// Full attention; attention that sees the last `window` tokens.
enum class PartKind : uint8_t { pages, window };
enum class StateType : uint8_t { f32 = 0, f16 = 1, bf16 = 2 };

struct PartSpec {
  PartKind kind = PartKind::pages;
  StateType type = StateType::f16;
  int64_t n_layers = 0, n_kv_heads = 0, dk = 0, dv = 0;
  int64_t window = 0;  // tokens that a query sees, itself included; 0 for PartKind::pages
  // In a page: [layer][kv head] { K [dk][32], V [32][dv] }.
  int64_t tile_bytes() const;
  int64_t page_bytes() const;
  int64_t k_offset(int64_t layer, int64_t head) const;
  int64_t v_offset(int64_t layer, int64_t head) const;
};

// Lends pages. Shared by the sequences of one model; thread-safe. Sequences may outlive this handle.
class StatePool {
 public:
  // The allocator is called under the pool's lock. Throws Code::invalid_argument for a part that cannot be.
  StatePool(const Allocator& allocator, std::vector<PartSpec> parts, uint64_t budget_bytes);
  ~StatePool();
  std::span<const PartSpec> parts() const;
  uint64_t bytes_in_use() const;  // of pages that sequences hold, shared ones once; at most budget_bytes()
  uint64_t budget_bytes() const;
  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// One sequence. Not thread-safe; different sequences of one pool may be used from different threads.
class SequenceState {
 public:
  explicit SequenceState(const StatePool& pool);
  SequenceState(SequenceState&&) noexcept;
  SequenceState& operator=(SequenceState&&) noexcept;
  ~SequenceState();

  int64_t length() const;  // committed tokens
  // Makes positions [length, length + n) of every part writable (new pages, and copies of shared ones). All
  // or nothing: on Code::out_of_memory (budget or allocator) nothing has changed. New pages are zero, and so
  // are the positions past `length` of a copied one. A second call replaces the first reservation.
  void reserve(int64_t n);
  // The first n reserved positions now count, and the reservation ends: pages wholly past them go back, as do
  // window pages that nobody can see (a query at p sees (p - window, p]).
  void commit(int64_t n);
  // Shortens to n tokens and ends a reservation. Throws Code::invalid_argument when a window part no longer
  // holds what position n would see; 0 always works.
  void truncate(int64_t n);
  // Shares every page until one side writes. Several threads may fork one sequence that nobody changes.
  SequenceState fork() const;

  // Pages of part `i`: entry p holds positions [32 p, 32 p + 32), null where the page was given back. Valid
  // until the next reserve, commit or truncate.
  std::span<std::byte* const> pages(size_t part) const;

 private:
  struct Impl;
  explicit SequenceState(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle::kv
