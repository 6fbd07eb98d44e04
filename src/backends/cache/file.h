// One file of the cache of packed weights: head, checksums, then the weights one after another. Where each of
// them stands is computed from the plan. Nothing that the file says is used as an offset or a size, so
// whatever is in it, nobody reads outside of it.
//   head (128 bytes), checks u64 [n_checks], padding to 4096, then each weight, padded to 64 (little-endian)
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/checksum.h"
#include "core/file.h"
#include "core/threads.h"

namespace ingle::backends {

constexpr uint32_t kCacheVersion = 1;
constexpr uint64_t kCacheCheckBytes = uint64_t{1} << 20;  // of a weight, under one checksum

// What the file of a plan must look like, to the byte.
class CacheLayout {
 public:
  // `key`: of everything that decides the packed bytes. Throws Code::corrupt when they fit no file.
  CacheLayout(const Digest& key, std::span<const uint64_t> sizes);
  const Digest& key() const { return key_; }
  size_t n_weights() const { return weights_.size(); }
  uint64_t offset(size_t i) const { return weights_[i].offset; }
  uint64_t size(size_t i) const { return weights_[i].bytes; }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t n_checks() const { return n_checks_; }
  uint64_t first_data() const { return first_data_; }
  // The stretch of bytes under check c: of weight `weight`, from `start` on.
  struct Stretch {
    size_t weight;
    uint64_t start, bytes;
  };
  Stretch stretch(uint64_t c) const;

 private:
  struct Weight {
    uint64_t offset, bytes, first_check;
  };
  Digest key_;
  std::vector<Weight> weights_;
  uint64_t file_bytes_ = 0, n_checks_ = 0, first_data_ = 0;
};

// When the bytes were known to be right: a file that was not written to since, in this run of the machine, is
// taken as it is; any other is read and compared with its checksums.
struct CacheSeal {
  int64_t written_ns = 0;  // the file's time, which is set to this
  std::string boot;        // the machine's name for its run; empty: unknown
};
std::string boot_name();

// The file's first bytes: head and checks.
std::vector<std::byte> encode_cache_head(const CacheLayout& layout, std::span<const uint64_t> checks,
                                         const CacheSeal& seal);
struct CacheHead {
  CacheSeal seal;
  std::vector<uint64_t> checks;
};
// Throws Code::corrupt, saying what is wrong, unless head and checks are whole and of just this layout.
CacheHead read_cache_head(const ByteSource& file, const CacheLayout& layout);

using CacheWeights = std::span<const std::span<const std::byte>>;  // as many as the layout has, of its sizes
std::vector<uint64_t> checks_of(CacheWeights weights, const CacheLayout& layout, ThreadPool& pool);

}  // namespace ingle::backends
