// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the n-th number of
// a stream is a function of (seed, n) alone, so neither batch order nor rollback can change a sequence's
// text.
#pragma once
#include <array>
#include <cstdint>

namespace ingle {

std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high = 0) noexcept;
// Uniform in [0, 1) with 24 random bits.
float uniform(uint64_t seed, uint64_t n) noexcept;

}  // namespace ingle
