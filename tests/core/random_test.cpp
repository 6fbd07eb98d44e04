#include "core/random.h"

#include <cmath>

#include "support/catch.h"

using namespace ingle;

TEST_CASE("Philox 4x32-10 gives the published answers", "[core]") {
  // The known-answer vectors that come with the paper's own library (Random123, kat_vectors).
  using Words = std::array<uint32_t, 4>;
  CHECK(philox4x32(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers lie in [0, 1) and are spread evenly", "[core]") {
  constexpr int kNumbers = 100'000;
  std::array<int, 10> bins{};
  double sum = 0;
  for (uint64_t n = 0; n < kNumbers; ++n) {
    const float u = uniform(42, n);
    if (!(u >= 0.0F && u < 1.0F)) FAIL("number " << n << " is " << u);
    sum += u;
    ++bins[static_cast<size_t>(u * 10)];
  }
  CHECK(std::abs(sum / kNumbers - 0.5) < 0.005);  // 5 standard errors of 0.29 / sqrt(100,000)
  for (const int count : bins) CHECK(std::abs(count - kNumbers / 10) < 500);
}

TEST_CASE("a number depends on its seed and its place only", "[core]") {
  CHECK(uniform(1, 1000) == uniform(1, 1000));
  CHECK(uniform(1, 1000) != uniform(2, 1000));
  CHECK(uniform(1, 1000) != uniform(1, 1001));
  CHECK(uniform(1, uint64_t{1} << 40) != uniform(1, 0));
  CHECK(uniform(0, 0) == static_cast<float>(0x6627e8d5 >> 8) * 0x1p-24F);
}
