// The default: packed weights, fused steps, kernels of the best instruction set that the processor has.
#pragma once
#include "backends/backend.h"

namespace ingle::backends {
std::unique_ptr<Backend> make_cpu_backend(const BackendContext& context);
}
