// Fused ops as sequences of plain ones, for backends that do not take them.
#pragma once
#include <functional>

#include "backends/plan.h"

namespace ingle::graph {

// Replaces each op that `takes` refuses by its expansion. Buffers of the expansion are added to the plan.
backends::Plan expand(backends::Plan plan, const std::function<bool(const Op&)>& takes);

}  // namespace ingle::graph
