// Which experts a token goes to.
#pragma once
#include "core/ops.h"

namespace ingle::backends {

constexpr int32_t kMaxExperts = 1024;

// logits [n_experts] → n_used experts in ascending order, as numbers, then their weights. `correction` may be
// null. In double precision by our own exp, so no machine's library moves a token to another expert; of equal
// scores the lower number wins.
void route(const RouterSpec& router, const float* logits, const float* correction, float* routes) noexcept;

// Each weight of a route times its expert's factor; nothing for null.
void scale_routes(const RouterSpec& router, const float* by, float* routes) noexcept;

// Throws Code::unsupported or Code::internal naming what cannot be.
void check_router(const RouterSpec& router);

}  // namespace ingle::backends
