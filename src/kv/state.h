// The state of sequences, in typed parts behind one interface. Layers are grouped by (kind, width, window).
// Attention has one block table per group and sequence, and pages of 32 tokens, copied on write; a recurrent
// group has snapshots of all that its layers hold. Both are lent from one byte budget and counted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/memory.h"

namespace ingle::kv {

constexpr int64_t kPageTokens = 32;

// Full attention; attention that sees the last `window` tokens; a state that each token replaces (of a
// recurrence, or the last inputs of a convolution); keys of the page that a token lies in.
enum class PartKind : uint8_t { pages, window, recurrent, tail };
enum class StateType : uint8_t { f32 = 0, f16 = 1, bf16 = 2, q8 = 3, q4 = 4 };
const char* name_of(StateType type);  // "f16"; "unknown type" for what is none

struct PartSpec {
  PartKind kind = PartKind::pages;
  StateType type = StateType::f16;
  int64_t n_layers = 0, n_kv_heads = 0, dk = 0, dv = 0;
  int64_t window = 0;  // tokens that a query sees, itself included; 0 for the other kinds
  // In a page of attention: [layer][kv head] { K [dk][32], V [32][dv] }; q8 has bytes, and behind those of K,
  // and of V, an f16 scale for each token; q4 is told in kernels/isa.h. A page of a recurrent part is one
  // snapshot, [layer][kv head][dk][dv], always f32. Behind each part of q4 comes a tail of the same layers
  // and heads: it has the keys of a page until that page's K is made, for its own queries; dv is 0.
  int64_t tile_bytes() const;  // of one layer and head
  int64_t page_bytes() const;
  int64_t tile_offset(int64_t layer, int64_t head) const {
    return (layer * n_kv_heads + head) * tile_bytes();
  }
  int64_t k_offset(int64_t layer, int64_t head) const;
  int64_t v_offset(int64_t layer, int64_t head) const;
  bool operator==(const PartSpec&) const = default;
};

// Of the n 4-bit values of one token: whole runs of 16.
constexpr int64_t q4_row_bytes(int64_t n) { return (n + 15) / 16 * 8; }

// Lends pages. Shared by the sequences of one model; thread-safe. Sequences may outlive this handle.
class StatePool {
 public:
  // The allocator is called under the pool's lock. Throws Code::invalid_argument for a part that cannot be.
  StatePool(const Allocator& allocator, std::vector<PartSpec> parts, uint64_t budget_bytes);
  ~StatePool();
  std::span<const PartSpec> parts() const;
  uint64_t bytes_in_use() const;  // of pages that sequences hold, shared ones once; at most budget_bytes()
  uint64_t budget_bytes() const;
  // What holds pages that could be computed again (a prefix index) gives some of them back here when the
  // budget is short: at least `bytes` if it can. Called without the pool's lock, on the thread that reserves,
  // until the reservation fits or it answers false: nothing more to give. At most one; an empty one ends it.
  void set_reclaim(std::function<bool(uint64_t bytes)> reclaim);
  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// A recurrent state after the first `position` tokens.
struct Snapshot {
  int64_t position;
  std::byte* data;
};
// What a step of a recurrent part reads and writes: `from` is the state at the sequence's length, null for
// the zeros that every sequence begins with; `to` are the snapshots that the step must write in full, by
// ascending position, the last of them at the end of what is reserved.
struct RecurrentStep {
  const std::byte* from;
  std::span<const Snapshot> to;
};
// Which lengths within a reservation can be committed when there are recurrent parts: the whole alone, or
// every one (for verifying guesses: a snapshot per token).
enum class Commits : uint8_t { whole, each };

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
  // are the positions past `length` of a copied one. A second call replaces the first reservation. When the
  // budget is short, snapshots that were kept for truncate go first.
  void reserve(int64_t n, Commits commits = Commits::whole);
  // The first n reserved positions now count, and the reservation ends: pages wholly past them go back, as do
  // window pages that nobody can see (a query at p sees (p - window, p]). With recurrent parts n is 0 or all,
  // unless each length was asked for.
  void commit(int64_t n);
  // Shortens to n tokens, or to the last position before n at which recurrent parts have a snapshot and a
  // tail begins a page or has that page, and ends a reservation. Returns the length that it has now; the
  // tokens from there to n are to be computed again. Throws Code::invalid_argument when a window part no
  // longer holds what that position would see; 0 always works.
  int64_t truncate(int64_t n);
  // Recurrent parts keep the snapshot at this length, beside those that they keep anyway; of marked ones the
  // last few stay. For places that one comes back to: the end of a prompt, of a message.
  void mark() noexcept;
  // Shares every page until one side writes. Several threads may fork one sequence that nobody changes.
  SequenceState fork() const;

  // Pages of part `i`: entry p holds positions [32 p, 32 p + 32), null where the page was given back. Valid
  // until the next reserve, commit or truncate. For recurrent parts: empty.
  std::span<std::byte* const> pages(size_t part) const;
  // The open reservation's step of recurrent part `i`; as long valid.
  RecurrentStep recurrent(size_t part) const;

  struct Impl;  // the room's own
  explicit SequenceState(std::unique_ptr<Impl> impl);
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle::kv
