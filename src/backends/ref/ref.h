// The oracle: float activations, one plain loop per op, no kernels. Slow on purpose, kept for ever.
#pragma once
#include "backends/backend.h"

namespace ingle::backends {
std::unique_ptr<Backend> make_ref_backend(const BackendContext& context);
}
