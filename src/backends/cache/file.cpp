#include "backends/cache/file.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "core/checked_math.h"
#include "core/error.h"

namespace ingle::backends {
namespace {

constexpr char kMagic[8] = {'I', 'N', 'G', 'L', 'E', 'P', 'W', '1'};
constexpr uint64_t kWeightAlignment = 64, kDataAlignment = 4096;

struct WireHead {
  char magic[8];
  uint32_t version, n_weights;
  Digest key;
  uint64_t file_bytes, n_checks, sum_of_checks;
  int64_t written_ns;
  char boot[40];
  uint32_t unused, crc;  // crc32c of all before it
};
static_assert(sizeof(WireHead) == 128 && std::is_trivially_copyable_v<WireHead>);
constexpr size_t kUnderCrc = sizeof(WireHead) - sizeof(uint32_t);

uint64_t fitting(std::optional<uint64_t> value) {
  if (!value) fail(Code::corrupt, "cache of packed weights", "the weights fit no file");
  return *value;
}

uint32_t crc_of(const WireHead& head) { return crc32c(std::as_bytes(std::span(&head, 1)).first(kUnderCrc)); }

}  // namespace

CacheLayout::CacheLayout(const Digest& key, std::span<const uint64_t> sizes) : key_(key) {
  weights_.reserve(sizes.size());
  for (const uint64_t bytes : sizes) {
    weights_.push_back({0, bytes, n_checks_});
    n_checks_ += bytes / kCacheCheckBytes + (bytes % kCacheCheckBytes != 0);
  }
  const uint64_t checks = fitting(checked_mul(n_checks_, sizeof(uint64_t)));
  uint64_t at = fitting(checked_round_up(fitting(checked_add(sizeof(WireHead), checks)), kDataAlignment));
  first_data_ = at;
  for (Weight& w : weights_) {
    w.offset = at;
    at = fitting(checked_round_up(fitting(checked_add(at, w.bytes)), kWeightAlignment));
  }
  file_bytes_ = at;
}

CacheLayout::Stretch CacheLayout::stretch(uint64_t c) const {
  const auto after = std::upper_bound(weights_.begin(), weights_.end(), c,
                                      [](uint64_t check, const Weight& w) { return check < w.first_check; });
  const Weight& w =
      *std::prev(after);  // the last one that starts at c or before: weights without bytes have none
  const uint64_t start = (c - w.first_check) * kCacheCheckBytes;
  return {static_cast<size_t>(std::prev(after) - weights_.begin()), start,
          std::min(kCacheCheckBytes, w.bytes - start)};
}

std::string boot_name() {
  std::string name = read_system_text("/proc/sys/kernel/random/boot_id");
  while (!name.empty() && name.back() <= ' ') name.pop_back();
  return name.size() < sizeof WireHead::boot ? name : std::string();
}

std::vector<std::byte> encode_cache_head(const CacheLayout& layout, std::span<const uint64_t> checks,
                                         const CacheSeal& seal) {
  WireHead head = {};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.version = kCacheVersion;
  head.n_weights = static_cast<uint32_t>(layout.n_weights());
  head.key = layout.key();
  head.file_bytes = layout.file_bytes();
  head.n_checks = layout.n_checks();
  head.sum_of_checks = checksum64(std::as_bytes(checks));
  head.written_ns = seal.written_ns;
  std::memcpy(head.boot, seal.boot.data(), std::min(seal.boot.size(), sizeof head.boot - 1));
  head.crc = crc_of(head);
  std::vector<std::byte> out(sizeof head + checks.size_bytes());
  std::memcpy(out.data(), &head, sizeof head);
  if (!checks.empty()) std::memcpy(out.data() + sizeof head, checks.data(), checks.size_bytes());
  return out;
}

CacheHead read_cache_head(const ByteSource& file, const CacheLayout& layout) {
  const auto refuse = [&](std::string what) { fail(Code::corrupt, file.name(), std::move(what)); };
  if (file.size() != layout.file_bytes())
    refuse(format("has {} bytes, expected {}", file.size(), layout.file_bytes()));
  WireHead head;
  file.read(0, std::as_writable_bytes(std::span(&head, 1)));
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) refuse("is no file of packed weights");
  if (head.version != kCacheVersion)
    refuse(format("is of version {}, expected {}", head.version, kCacheVersion));
  if (head.crc != crc_of(head)) refuse("has a head whose checksum differs");
  if (head.key != layout.key() || head.n_weights != layout.n_weights() ||
      head.file_bytes != layout.file_bytes() || head.n_checks != layout.n_checks())
    refuse("is of another model");
  CacheHead out;
  out.checks.resize(static_cast<size_t>(layout.n_checks()));
  file.read(sizeof head, std::as_writable_bytes(std::span(out.checks)));
  if (head.sum_of_checks != checksum64(std::as_bytes(std::span(out.checks))))
    refuse("has a list of checksums that is damaged");
  out.seal.written_ns = head.written_ns;
  out.seal.boot.assign(head.boot, strnlen(head.boot, sizeof head.boot));
  return out;
}

std::vector<uint64_t> checks_of(CacheWeights weights, const CacheLayout& layout, ThreadPool& pool) {
  std::vector<uint64_t> checks(static_cast<size_t>(layout.n_checks()));
  std::atomic<uint64_t> next{0};
  pool.run([&](int) {
    for (uint64_t c; (c = next.fetch_add(1, std::memory_order_relaxed)) < checks.size();) {
      const CacheLayout::Stretch s = layout.stretch(c);
      checks[static_cast<size_t>(c)] =
          checksum64(weights[s.weight].subspan(static_cast<size_t>(s.start), static_cast<size_t>(s.bytes)));
    }
  });
  return checks;
}

}  // namespace ingle::backends
