// Float matmul tiles with NEON, which every processor of armv8-a has: one ascending chain of fused
// multiply-adds an output. Lanes are rows.
#include <arm_neon.h>
#include <stdint.h>

#include "kernels/arm/neon_ends.h"
#include "kernels/isa.h"
#include "kernels/layout.h"
#include "kernels/strips.h"
#include "kernels/units.h"

namespace ingle::kernels {
namespace {

template <int kId>
struct NeonFloat {
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = 4;
  static constexpr int64_t kSlice = 512;
  static constexpr int64_t kPanelBytes = 0;
  static int64_t strip_bytes(int64_t k) { return k * 4; }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_float_strip(x, part, reinterpret_cast<float*>(out));
  }
  static INGLE_INLINE float32x4_t weights(const uint8_t* w, int64_t i) {
    if constexpr (kId == kLayoutF32) return vreinterpretq_f32_u8(vld1q_u8(w + 4 * i));
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(w + 2 * i)));
  }

  template <int kTokens>
  __attribute__((noinline)) static void tile(const uint8_t* w, const uint8_t* strip, int64_t k,
                                             const TileOut& out) {
    const auto* x = reinterpret_cast<const float*>(strip);
    float32x4_t acc[4][kTokens];
    INGLE_UNROLL for (int quarter = 0; quarter < 4; ++quarter) INGLE_UNROLL for (int t = 0; t < kTokens; ++t)
        acc[quarter][t] = start_quarter(out, t, quarter);
    for (int64_t i = 0; i < k; ++i, x += kTokens) INGLE_UNROLL for (int quarter = 0; quarter < 4; ++quarter) {
        const float32x4_t value = weights(w, i * kRows + 4 * quarter);
        INGLE_UNROLL for (int t = 0; t < kTokens; ++t) acc[quarter][t] =
            vfmaq_n_f32(acc[quarter][t], value, x[t]);
      }
    const int quarters = (out.last ? out.rows + 3 : 16) / 4;
    INGLE_UNROLL for (int quarter = 0; quarter < 4; ++quarter) if (quarter < quarters)
        finish_quarter<kTokens>(out, quarter, acc[quarter]);
  }
};

#define INGLE_ROW(name, layout)                                                              \
  {                                                                                          \
    name "_f32_gemm_neon_r16", "neon", name, layout, kActF32, run_strips<NeonFloat<layout>>, \
        strip_scratch<NeonFloat<layout>>                                                     \
  }
constexpr MatmulRow kMatmulRows[] = {INGLE_ROW("f32", kLayoutF32), INGLE_ROW("f16", kLayoutF16)};
#undef INGLE_ROW

}  // namespace

extern "C" const MatmulUnit ingle_matmul_neon = {kMatmulRows, sizeof kMatmulRows / sizeof kMatmulRows[0]};

}  // namespace ingle::kernels
