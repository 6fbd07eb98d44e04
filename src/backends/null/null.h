// Computes nothing: every logit is zero. For measuring what everything around the arithmetic costs.
#pragma once
#include "backends/backend.h"

namespace ingle::backends {
std::unique_ptr<Backend> make_null_backend(const BackendContext& context);
}
