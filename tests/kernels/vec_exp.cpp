// The exp that all rows share, measured in units in the last place on its plain form.
#include "kernels/ref/vec_lanes_plain.h"

#include "kernels/vec_functions.h"
#include "support/catch.h"

#include <cmath>
#include <limits>

TEST_CASE("exp is within 2 units in the last place", "[vec]") {
  using namespace ingle::kernels;
  double worst = 0.0;
  for (double base = -87.0; base < 88.3; base += 16 * 0.00731) {
    const V x = lanes<V>([&](int i) { return static_cast<float>(base + 0.00731 * i); });
    const V y = exp_lanes(x);
    for (int i = 0; i < 16; ++i) {
      if (x.x[i] > 88.3f) continue;
      const double want = std::exp(static_cast<double>(x.x[i]));
      const double unit = std::nextafter(static_cast<float>(want), INFINITY) - static_cast<float>(want);
      worst = std::max(worst, std::abs(y.x[i] - want) / unit);
    }
  }
  CHECK(worst < 2.0);
  CHECK(worst > 0.3);  // the measure itself works
  CHECK(exp_lanes(zero()).x[0] == 1.0f);
  CHECK(exp_lanes(set1(-87.1f)).x[3] == 0.0f);
  CHECK(exp_lanes(set1(-INFINITY)).x[3] == 0.0f);
  CHECK(std::isinf(exp_lanes(set1(89.0f)).x[3]));
  CHECK(std::isinf(exp_lanes(set1(1e30f)).x[3]));
  CHECK(std::isnan(exp_lanes(set1(std::numeric_limits<float>::quiet_NaN())).x[3]));
}
