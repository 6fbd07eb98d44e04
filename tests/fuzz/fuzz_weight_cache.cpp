// Any bytes as a file of packed weights, as they are and with checksums made right: an Error, or weights all
// of which lie inside.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backends/cache/file.h"
#include "core/error.h"

using namespace ingle;

namespace {

const backends::CacheLayout& layout() {
  static const std::vector<uint64_t> sizes = {100, 0, 5000, 64};
  static const backends::CacheLayout made(Digest{std::byte{7}}, sizes);
  return made;
}

void try_open(std::span<const std::byte> bytes) {
  static ThreadPool pool(1);
  const ByteSourcePtr file = from_memory("file", bytes);
  try {
    const backends::CacheHead head = backends::read_cache_head(*file, layout());
    std::vector<std::span<const std::byte>> weights;
    for (size_t i = 0; i < layout().n_weights(); ++i)
      weights.push_back(bytes.subspan(layout().offset(i), layout().size(i)));
    backends::checks_of(weights, layout(), pool);
    // What was read can be written, and read again.
    std::vector<std::byte> again(bytes.begin(), bytes.end());
    const auto written = backends::encode_cache_head(layout(), head.checks, head.seal);
    std::memcpy(again.data(), written.data(), written.size());
    const auto read = backends::read_cache_head(*from_memory("file", again), layout());
    if (read.checks != head.checks || read.seal.written_ns != head.seal.written_ns) std::abort();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size) std::memcpy(bytes.data(), data, size);
  try_open(bytes);
  // Offsets of the fields of the head: cache/file.cpp.
  constexpr size_t kHead = 128, kSum = 64, kCrc = kHead - 4;
  const size_t checks = layout().n_checks() * 8;
  if (size < kHead + checks) return 0;
  const uint64_t sum = checksum64(std::span(bytes).subspan(kHead, checks));
  std::memcpy(bytes.data() + kSum, &sum, sizeof sum);
  const uint32_t crc = crc32c(std::span(bytes).first(kCrc));
  std::memcpy(bytes.data() + kCrc, &crc, sizeof crc);
  try_open(bytes);
  return 0;
}
