// Dynamic temperature and smoothing against their formulas.
#include "sampling/rows.h"

using namespace ingle;
using namespace ingle::sampling;

namespace {

void check_close(const std::vector<Candidate>& got, const Row& row, const std::vector<double>& want_of_id) {
  size_t n = 0;
  for (const Candidate& c : got) {
    const double want = want_of_id[static_cast<size_t>(c.id)];
    REQUIRE(std::fabs(c.logit - want) <= 1e-5 * std::max(1.0, std::fabs(want)));
    ++n;
  }
  REQUIRE(n == sorted_list(row).size());
}

}  // namespace

TEST_CASE("dynamic temperature follows the entropy", "[sampling]") {
  for (const Row& row : varied_rows()) {
    const auto all = sorted_list(row);
    if (all.size() < 2) continue;
    const double share = entropy(softmax(all)) / std::log(static_cast<double>(all.size()));
    for (const auto& [t, range, exponent] :
         {std::tuple{0.8f, 0.5f, 1.0f}, {1.0f, 0.3f, 2.5f}, {1.0f, 3.0f, 0.5f}, {2.0f, 2.0f, 1.0f}}) {
      const double low = std::max(0.0f, t - range), high = t + range;
      const double value = low + (high - low) * std::pow(share, static_cast<double>(exponent));
      if (value < 1e-3) continue;
      std::vector<double> want(row.size());
      for (const Candidate& c : all)
        want[static_cast<size_t>(c.id)] =
            std::max(-3.4028234e38, (static_cast<double>(c.logit) - all[0].logit) / value);
      check_close(left_by(make_dynamic_temperature(t, range, exponent), row), row, want);
    }
  }
}

TEST_CASE("dynamic temperature at its ends", "[sampling]") {
  CHECK(left_by(make_dynamic_temperature(1, 1, 1), {7.0f}).size() == 1);
  // Sure: the temperature is 0, and the likeliest alone is left.
  CHECK(ids_of(left_by(make_dynamic_temperature(1, 1, 1), {-3e38f, 3e38f, -3e38f})) ==
        std::vector<int32_t>{1});
  // Nothing known: temperature + range, and equal logits stay equal.
  for (const Candidate& c : left_by(make_dynamic_temperature(1, 1, 1), Row(9, 4.0f))) CHECK(c.logit == 0.0f);
  // Without a range, the plain temperature.
  const Row row = random_row(4, 200, 0);
  const auto plain = left_by(make_temperature(0.7f), row),
             dynamic = left_by(make_dynamic_temperature(0.7f, 0, 1), row);
  REQUIRE(plain.size() == dynamic.size());
  for (size_t i = 0; i < plain.size(); ++i) CHECK(plain[i].logit == Approx(dynamic[i].logit));
}

TEST_CASE("smoothing equals its formula", "[sampling]") {
  for (const Row& row : varied_rows()) {
    const auto all = sorted_list(row);
    for (const float f : {0.05f, 0.3f, 2.0f})
      for (const float curve : {1.0f, 2.0f, 3.0f, 6.0f}) {
        const double k = (3 - static_cast<double>(curve)) / 2, s = (static_cast<double>(curve) - 1) / 2;
        std::vector<double> want(row.size());
        for (const Candidate& c : all) {
          const double d = static_cast<double>(c.logit) - all[0].logit;
          const double x = -(k * f * d * d) + s * f * d * d * d + all[0].logit;
          want[static_cast<size_t>(c.id)] = std::clamp(x, -3.4028234e38, 3.4028234e38);
        }
        check_close(left_by(make_smoothing(f, curve), row), row, want);
      }
    const auto off = left_by(make_smoothing(0, 2), row);
    REQUIRE(ids_of(off) == ids_of(all));
    REQUIRE(off[0].logit == all[0].logit);
  }
}

TEST_CASE("scaling keeps the order, up to ties", "[sampling]") {
  for (const Row& row : varied_rows()) {
    const auto order = sorted_list(row);
    StagePtr stages[] = {make_temperature(0.3f), make_dynamic_temperature(1, 0.9f, 1),
                         make_smoothing(0.4f, 1), make_smoothing(0.4f, 3)};
    for (const StagePtr& stage : stages) {
      std::vector<float> scaled(row.size(), kBan);
      for (const Candidate& c : left_by(stage, row)) {
        REQUIRE(std::isfinite(c.logit));
        scaled[static_cast<size_t>(c.id)] = c.logit;
      }
      for (size_t i = 1; i < order.size(); ++i)
        REQUIRE(scaled[static_cast<size_t>(order[i - 1].id)] >= scaled[static_cast<size_t>(order[i].id)]);
    }
  }
}
