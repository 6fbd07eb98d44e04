#include "engine/cost_model.h"

#include <cmath>

#include "core/random.h"
#include "support/catch.h"

using namespace ingle;
using namespace ingle::engine;

namespace {

struct Truth {
  double base, per_token, per_seen;
  double of(const StepLoad& l) const {
    return base + per_token * static_cast<double>(l.tokens) + per_seen * l.seen;
  }
};

StepLoad load_of(uint64_t i) {
  StepLoad load;
  for (uint64_t s = 0; s < 1 + i % 5; ++s)
    load.add(static_cast<int64_t>(2000 * uniform(7, 3 * i + s)),
             s == 0 ? 1 + static_cast<int64_t>(300 * uniform(8, i)) : 1);
  return load;
}

}  // namespace

TEST_CASE("the cost of steps is learnt from noisy times", "[engine]") {
  for (const Truth truth : {Truth{5e-3, 2e-4, 1e-8}, Truth{0, 3e-2, 4e-6}, Truth{2e-2, 1e-6, 0}}) {
    CostModel model;
    CHECK(!model.ready());
    for (uint64_t i = 0; i < 400; ++i)
      model.observe(load_of(i), truth.of(load_of(i)) * (0.95 + 0.1 * static_cast<double>(uniform(9, i))));
    CHECK(model.ready());
    for (uint64_t i = 1000; i < 1050; ++i) {
      const double expected = truth.of(load_of(i));
      CAPTURE(truth.base, i, expected, model.predict(load_of(i)));
      CHECK(std::abs(model.predict(load_of(i)) - expected) < 0.1 * expected);
    }
  }
}

TEST_CASE("a machine that becomes slower is followed", "[engine]") {
  CostModel model;
  const Truth fast{1e-3, 1e-4, 0}, slow{3e-3, 4e-4, 0};
  for (uint64_t i = 0; i < 300; ++i) model.observe(load_of(i), fast.of(load_of(i)));
  for (uint64_t i = 0; i < 300; ++i) model.observe(load_of(i), slow.of(load_of(i)));
  CHECK(model.predict(load_of(3)) == Approx(slow.of(load_of(3))).epsilon(0.1));
}

TEST_CASE("what fits into a time takes that time", "[engine]") {
  const Truth truth{5e-3, 2e-4, 1e-7};
  CostModel model;
  for (uint64_t i = 0; i < 500; ++i) model.observe(load_of(i), truth.of(load_of(i)));
  for (const int64_t start : {0, 1000, 8000})
    for (const double seconds : {0.01, 0.05, 0.2}) {
      const int64_t n = model.tokens_within(seconds, start, 100000);
      StepLoad at, over;
      at.add(start, n);
      over.add(start, n + 2 + n / 20);
      CAPTURE(start, seconds, n);
      CHECK(truth.of(at) - truth.base <= 1.05 * seconds);
      CHECK(truth.of(over) - truth.base > seconds);
    }
  CHECK(model.tokens_within(0, 0, 100) == 0);
  CHECK(model.tokens_within(-1, 0, 100) == 0);
  CHECK(model.tokens_within(1000, 0, 7) == 7);
}

TEST_CASE("times that are none teach nothing", "[engine]") {
  CostModel model;
  StepLoad load;
  load.add(0, 5);
  for (const double t : {0.0, -1.0, std::nan(""), HUGE_VAL}) model.observe(load, t);
  model.observe({}, 1);
  CHECK(model.observations() == 0);
  CHECK(model.predict(load) == 0);
  CHECK(model.tokens_within(1, 0, 50) == 50);
}

TEST_CASE("equal steps for ever leave the model sound", "[engine]") {
  CostModel model;
  StepLoad load;
  load.add(100, 8);
  for (int i = 0; i < 100000; ++i) model.observe(load, 0.02);
  CHECK(model.predict(load) == Approx(0.02).epsilon(0.01));
  StepLoad other;
  other.add(100, 64);
  model.observe(other, 0.1);
  model.observe(other, 0.1);
  CHECK(model.predict(other) == Approx(0.1).epsilon(0.2));
}
