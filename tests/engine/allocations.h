// How often this executable has called operator new.
#pragma once
#include <cstdint>

namespace ingle::tests {

int64_t n_allocations();

}  // namespace ingle::tests
