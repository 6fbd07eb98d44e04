#include "kv/sizes.h"

#include <algorithm>

#include "core/checked_math.h"
#include "kv/snapshots.h"

namespace ingle::kv {
namespace {

int64_t pages_of(const PartSpec& part, int64_t n_tokens, int64_t chunk) {
  if (part.kind == PartKind::recurrent) {
    // Those on the way; the prompt's end, which is marked; what a step reads and what it writes.
    return (n_tokens - 1) / kept_interval(n_tokens) + std::min<int64_t>(n_tokens, 3);
  }
  const int64_t all = ceil_div(n_tokens, kPageTokens);
  if (part.kind == PartKind::pages) return all;
  const int64_t window = part.kind == PartKind::tail ? kPageTokens + 1 : part.window;
  return std::min(all, ceil_div(std::min(window, n_tokens) - 1 + std::min(chunk, n_tokens), kPageTokens) + 1);
}

}  // namespace

uint64_t state_bytes(std::span<const PartSpec> parts, int64_t n_tokens, int64_t chunk) {
  uint64_t bytes = 0;
  if (n_tokens < 1) return 0;
  for (const PartSpec& part : parts) {
    const auto pages = static_cast<uint64_t>(pages_of(part, n_tokens, chunk));
    const auto more = checked_mul(pages, static_cast<uint64_t>(part.page_bytes()));
    bytes = more ? checked_add(bytes, *more).value_or(UINT64_MAX) : UINT64_MAX;
  }
  return bytes;
}

}  // namespace ingle::kv
