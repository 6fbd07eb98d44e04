// The AVX-512 units compiled against SIMDe for the baseline, so that their lanes and order are tested on
// machines without AVX-512. Needs SIMDe, and a build that inlines (wide vectors may not cross calls).
#include "support/catch.h"

#if __has_include(<simde/x86/avx512.h>) && defined(__OPTIMIZE__) && !defined(INGLE_SANITIZED)
#define INGLE_SIMDE "kernels/simde_shim.h"
#pragma GCC diagnostic ignored "-Wpsabi"  // wide vectors pass between functions of this file only
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "kernels/x86/matmul_avx512.cpp"
#include "kernels/x86/matmul_avx512vnni.cpp"
#pragma GCC diagnostic pop

#include <cstring>

#include "kernels/matmul.h"
#include "kernels/ref/ref.h"
#include "matmul_data.h"

namespace ingle::kernels {
namespace {

void check_emulated(const MatmulRow& row) {
  const quant::QuantFormat& format = *quant::find_format(row.format);
  for (const int64_t n : {16, 21})
    for (const int64_t k : {256, 1536}) {
      const testing::RandomWeight weight(format, n, k, 61);
      const int64_t groups = (n + kGroupRows - 1) / kGroupRows;
      PackedWeight packed{&row, &format, n, k, Buffer(packed_bytes(row, format, n, k))};
      pack_groups(weight.w, nullptr, 0, groups, packed);
      const testing::RandomActivations x(25, k, 67);
      std::vector<float> want(static_cast<size_t>(25 * n));
      ref_q_matmul(weight.w, x.view, want.data(), n);
      for (const int64_t m : {1, 2, 3, 4, 6, 8, 12, 25}) {
        std::vector<float> got(static_cast<size_t>(m * n), -1.0f);
        Buffer scratch(static_cast<size_t>(row.scratch_bytes(m, k)) + 64);
        const MatmulArgs args = {
            packed.data.as<uint8_t>(), n, k, x.tokens(0, m), nullptr, got.data(), n, 0, 0, groups,
            scratch.as<uint8_t>()};
        row.run(&args);
        INFO(row.name << " n " << n << " k " << k << " m " << m);
        CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
      }
    }
}

TEST_CASE("AVX-512 units are bit-equal to the oracle when emulated", "[matmul]") {
  for (const MatmulRow& row : kFloatRows) check_emulated(row);
  for (const MatmulRow& row : kMatmulRows) check_emulated(row);
}

}  // namespace
}  // namespace ingle::kernels
#else
TEST_CASE("AVX-512 units are bit-equal to the oracle when emulated", "[matmul]") {
  WARN("skipped: no SIMDe, or a build that does not inline (no optimisation, or sanitizers)");
}
#endif
