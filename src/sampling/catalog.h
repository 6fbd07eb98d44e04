// The list of stages that parameters can ask for, in the default order.
#pragma once
#include <vector>

#include "sampling/chain.h"
#include "sampling/stages.h"

namespace ingle::sampling {

// The chain of `p`, the last one chooses. Throws as validate() does, and Code::invalid_argument or not_found
// for an order that cannot be followed.
std::vector<StagePtr> build_chain(const SamplerParams& p);

// "did you mean "x"?" of the names, or nothing.
std::string near_miss(std::string_view name, std::span<const std::string_view> names);

}  // namespace ingle::sampling
