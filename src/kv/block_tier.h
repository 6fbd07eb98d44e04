// Where blocks of a PrefixIndex go when memory is short: a slower, larger place. What it gives back was
// checked; whatever goes wrong with it means that a block is computed again.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/checksum.h"

namespace ingle::kv {

// What a block holds: its pages, and recurrent states after some of its tokens.
struct BlockPiece {
  uint32_t part;
  int64_t offset;  // of a recurrent state: after so many of the block's tokens; 0: a page
  bool operator==(const BlockPiece&) const = default;
};

class BlockTier {
 public:
  virtual ~BlockTier() = default;
  // Keeps a block, if it can and may; the bytes of its pieces are read during the call alone.
  virtual void put(const Digest& name, std::span<const BlockPiece> pieces,
                   std::span<const std::span<const std::byte>> bytes) noexcept = 0;
  // Bytes that get() would read; 0: it is not there.
  virtual uint64_t size_of(const Digest& name) noexcept = 0;
  // Asks for memory piece by piece: null means that the piece is not wanted, and ends the call. True when
  // every piece was read in full and is what was put. put() may be called meanwhile, also by `place`.
  using Place = std::function<std::byte*(const BlockPiece& piece, uint64_t n_bytes)>;
  virtual bool get(const Digest& name, const Place& place) = 0;
};

struct DiskTierOptions {
  std::string folder;      // must exist; everything in it that is named like a block may be removed
  uint64_t max_bytes = 0;  // of all files together
  Digest fingerprint{};    // of model, state types and layout: files of another are not read, and go first
  uint64_t write_bytes_per_s = UINT64_MAX;  // blocks past that are dropped; a second's worth may come at once
  int64_t read_deadline_us = 1'000'000;     // of one get(); what takes longer counts as missing
  std::function<int64_t()> now_us;          // empty: the monotonic clock
};

struct DiskTierStats {
  uint64_t blocks = 0, bytes = 0;               // held now
  uint64_t written = 0, read = 0, removed = 0;  // blocks
  uint64_t refused = 0;                         // by the write budget or the byte bound
  uint64_t failed_writes = 0, missing = 0, damaged = 0, late = 0;
};

// Thread-safe. One process owns a folder at a time; a second one is Code::busy. A file for each block, named
// by its digest; without fsync, since a file that a crash has torn fails its checksum.
class DiskTier final : public BlockTier {
 public:
  explicit DiskTier(DiskTierOptions options);  // throws Code::io, busy, invalid_argument
  ~DiskTier() override;
  void put(const Digest& name, std::span<const BlockPiece> pieces,
           std::span<const std::span<const std::byte>> bytes) noexcept override;
  uint64_t size_of(const Digest& name) noexcept override;
  bool get(const Digest& name, const Place& place) override;
  DiskTierStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle::kv
