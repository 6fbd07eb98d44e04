// How much memory states take, without making one.
#pragma once
#include "kv/state.h"

namespace ingle::kv {

// Of one sequence that is fed n_tokens in steps of `chunk` and then answers some. Counted are the whole pages
// and snapshots that it holds at its peak.
uint64_t state_bytes(std::span<const PartSpec> parts, int64_t n_tokens, int64_t chunk);

}  // namespace ingle::kv
