// The scalar mathematics against long double.
#include "vec_support.h"

using namespace ingle::kernels;

TEST_CASE("exp_double and log_double", "[vec]") {
  double worst = 0.0;
  for (double x = -740.0; x < 709.0; x += 0.0437) {
    const long double want = std::exp(static_cast<long double>(x));
    if (want < 1e-300L) continue;
    worst = std::max(worst, static_cast<double>(std::abs(exp_double(x) - want) / want));
  }
  CHECK(worst < 1e-15);
  CHECK(exp_double(0.0) == 1.0);
  CHECK(exp_double(-1000.0) == 0.0);
  CHECK(exp_double(-745.0) > 0.0);
  CHECK(std::isinf(exp_double(1000.0)));
  CHECK(std::isnan(exp_double(NAN)));
  worst = 0.0;
  for (double x = 1e-320; x < 1e300; x *= 1.0137) {
    const long double want = std::log(static_cast<long double>(x));
    worst = std::max(worst,
                     static_cast<double>(std::abs(log_double(x) - want) / std::max(1e-3L, std::abs(want))));
  }
  for (double x = 0.5; x < 2.0; x += 0.00013) {
    const long double want = std::log(static_cast<long double>(x));
    worst = std::max(worst,
                     static_cast<double>(std::abs(log_double(x) - want) / std::max(1e-3L, std::abs(want))));
  }
  CHECK(worst < 1e-15);
  CHECK(log_double(1.0) == 0.0);
  CHECK(std::isinf(log_double(0.0)));
  CHECK(std::isnan(log_double(-1.0)));
}

TEST_CASE("rope_angles holds to long positions", "[vec]") {
  std::vector<double> frequency;
  for (int i = 0; i < 32; ++i) frequency.push_back(std::pow(10000.0, -i / 32.0));
  std::vector<float> c(32), s(32);
  int64_t steps = 0;
  for (int64_t position = 0; position <= 1 << 20; position = position * 5 / 4 + 1) {
    rope_angles(position, frequency.data(), 32, 1.0, c.data(), s.data());
    for (size_t i = 0; i < 32; ++i) {
      const long double angle = static_cast<long double>(static_cast<double>(position) * frequency[i]);
      // half a unit of float, and 1e-12 for what the double may be off
      REQUIRE(std::abs(c[i] - std::cos(angle)) <= 0.5L * 0x1p-24L * 2 * std::abs(c[i]) + 1e-12L);
      REQUIRE(std::abs(s[i] - std::sin(angle)) <= 0.5L * 0x1p-24L * 2 * std::abs(s[i]) + 1e-12L);
    }
    ++steps;
  }
  CHECK(steps > 40);
  rope_angles(3, frequency.data(), 32, 2.5, c.data(), s.data());
  CHECK(c[0] == Approx(2.5 * std::cos(3.0)));
}

TEST_CASE("the row of a forced ISA is found by its name", "[vec]") {
  ingle::CpuFeatures none;
  CHECK(std::string(select_vec(none, "").isa) == "plain");
  CHECK(std::string(select_vec(none, "ref_q").isa) == "plain");
  CHECK_THROWS_AS(select_vec(none, "avx2"), ingle::Error);
  CHECK_THROWS_AS(select_vec(none, "sse9"), ingle::Error);
  ingle::CpuFeatures all;
  all.avx2 = all.avx512 = all.avx512_vnni = true;
  if (all_vec_rows().size() > 1) {
    CHECK(std::string(select_vec(all, "").isa) == "avx512vnni");
    CHECK(std::string(select_vec(all, "avx512bf16").isa) == "avx512vnni");
    CHECK(std::string(select_vec(all, "q4_k_q8_gemm_avx2_r16").isa) == "avx2");
  }
}
