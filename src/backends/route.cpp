#include "backends/route.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "kernels/vec.h"

namespace ingle::backends {
namespace {

constexpr double kNever = -INFINITY;

struct Scores {
  double weigh[kMaxExperts], choose[kMaxExperts];
};

int32_t best_of(const double* x, int32_t n) {
  int32_t best = 0;
  for (int32_t i = 1; i < n; ++i)
    if (x[i] > x[best]) best = i;
  return best;
}

void softmax(double* x, int32_t n) {
  double top = x[best_of(x, n)], sum = 0;
  for (int32_t i = 0; i < n; ++i) sum += x[i] = x[i] == kNever ? 0 : kernels::exp_double(x[i] - top);
  for (int32_t i = 0; i < n; ++i) x[i] /= sum;
}

// Leaves experts of the groups that score best.
void keep_groups(const RouterSpec& router, double* choose) {
  const int32_t size = std::max(router.n_experts / router.n_groups, 1);
  double groups[kMaxExperts] = {};
  for (int32_t g = 0; g < router.n_groups; ++g) {
    double best[kMaxExperts] = {};
    std::copy_n(choose + g * size, size, best);
    groups[g] = 0;
    for (int32_t i = 0; i < router.group_best; ++i) {
      const int32_t b = best_of(best, size);
      groups[g] += best[b];
      best[b] = kNever;
    }
  }
  bool kept[kMaxExperts] = {};
  for (int32_t i = 0; i < router.n_groups_used; ++i) {
    const int32_t g = best_of(groups, router.n_groups);
    kept[g] = true;
    groups[g] = kNever;
  }
  for (int32_t e = 0; e < router.n_experts; ++e)
    if (!kept[e / size]) choose[e] = kNever;
}

// Sparsemixer at inference (Phi-3.5-MoE, arXiv:2404.14219): the best expert weighs as in a softmax over those
// whose logits are near its own; then the second best likewise, without the best.
void sparsemixer(const RouterSpec& router, const double* logits, Scores& s) {
  const int32_t n = router.n_experts;
  double left[kMaxExperts] = {};
  std::copy_n(logits, n, left);
  std::fill_n(s.choose, n, kNever);
  for (int32_t turn = 0; turn < 2; ++turn) {
    const int32_t best = best_of(left, n);
    const double top = left[best];
    double near[kMaxExperts] = {};
    for (int32_t e = 0; e < n; ++e) {
      const double range = std::max(std::abs(logits[e]), top);
      near[e] = (top - logits[e]) / range > 2 * double{router.jitter} ? kNever : left[e];
    }
    softmax(near, n);
    s.weigh[best] = near[best];
    s.choose[best] = 1;
    left[best] = kNever;
  }
}

void score(const RouterSpec& router, const float* logits, const float* correction, Scores& s) {
  const int32_t n = router.n_experts;
  for (int32_t e = 0; e < n; ++e) {
    s.weigh[e] = double{logits[e]};
    if (router.softcap > 0) {  // tanh by exp: the same on every machine
      const double twice = kernels::exp_double(-2 * std::abs(s.weigh[e]) / router.softcap);
      s.weigh[e] = std::copysign(router.softcap * (1 - twice) / (1 + twice), s.weigh[e]);
    }
  }
  switch (router.score) {
    case RouterScore::softmax:
      softmax(s.weigh, n);
      break;
    case RouterScore::sigmoid:
      for (int32_t e = 0; e < n; ++e) s.weigh[e] = 1 / (1 + kernels::exp_double(-s.weigh[e]));
      break;
    case RouterScore::softmax_of_chosen:
      break;
    case RouterScore::sparsemixer: {
      double raw[kMaxExperts] = {};
      std::copy_n(s.weigh, n, raw);
      return sparsemixer(router, raw, s);
    }
  }
  for (int32_t e = 0; e < n; ++e) s.choose[e] = s.weigh[e] + (correction ? double{correction[e]} : 0);
  if (router.n_groups > 1) keep_groups(router, s.choose);
}

}  // namespace

void route(const RouterSpec& router, const float* logits, const float* correction, float* routes) noexcept {
  Scores s = {};
  score(router, logits, correction, s);
  // Distinct ones, whatever the logits: nobody may see more rows than there are tokens.
  int32_t chosen[kMaxExperts] = {};
  bool taken[kMaxExperts] = {};
  for (int32_t i = 0; i < router.n_used; ++i) {
    int32_t best = -1;
    for (int32_t e = 0; e < router.n_experts; ++e)
      if (!taken[e] && (best < 0 || s.choose[e] > s.choose[best])) best = e;
    taken[best] = true;
    chosen[i] = best;
  }
  std::sort(chosen, chosen + router.n_used);
  double weights[kMaxExperts] = {}, sum = 0;
  for (int32_t i = 0; i < router.n_used; ++i) weights[i] = s.weigh[chosen[i]];
  if (router.score == RouterScore::softmax_of_chosen) softmax(weights, router.n_used);
  for (int32_t i = 0; i < router.n_used; ++i) sum += weights[i];
  for (int32_t i = 0; i < router.n_used; ++i) {
    if (router.normalise) weights[i] /= sum + 1e-20;
    routes[i] = static_cast<float>(chosen[i]);
    routes[router.n_used + i] = static_cast<float>(weights[i] * double{router.scale});
  }
}

void scale_routes(const RouterSpec& router, const float* by, float* routes) noexcept {
  for (int32_t i = 0; by && i < router.n_used; ++i)
    routes[router.n_used + i] *= by[static_cast<int32_t>(routes[i])];
}

void check_router(const RouterSpec& r) {
  if (r.n_experts > kMaxExperts)
    fail(Code::unsupported, "router", format("{} experts, expected at most {}", r.n_experts, kMaxExperts));
  const bool groups = r.n_groups >= 1 && r.n_experts % r.n_groups == 0 && r.n_groups_used >= 1 &&
                      r.n_groups_used <= r.n_groups && r.group_best >= 1 &&
                      r.group_best <= r.n_experts / r.n_groups &&
                      r.n_used <= r.n_groups_used * (r.n_experts / r.n_groups);
  if (r.n_experts < 1 || r.n_used < 1 || r.n_used > r.n_experts || !groups)
    fail(Code::corrupt, "router",
         format("{} of {} experts, out of {} of {} groups: this cannot be", r.n_used, r.n_experts,
                r.n_groups_used, r.n_groups));
  if (r.score == RouterScore::sparsemixer && (r.n_used != 2 || r.n_groups != 1 || r.correction != kNone))
    fail(Code::unsupported, "router", format("sparsemixer with {} experts a token, expected 2", r.n_used));
}

}  // namespace ingle::backends
