// The default: packed weights, fused steps, kernels of the best instruction set that the processor has.
#pragma once
#include "backends/backend.h"
#include "backends/plugin/plugin.h"

namespace ingle::backends {
std::unique_ptr<Backend> make_cpu_backend(const BackendContext& context);
// The same steps, with all matrix products, and the operations on rows that it takes, run by a plug-in.
std::unique_ptr<Backend> make_plugin_backend(const BackendContext& context, std::shared_ptr<Plugin> plugin);
}  // namespace ingle::backends
