// Integer matmul tiles with the dot product of signed bytes (FEAT_DotProd).
#include <arm_neon.h>
#include <stdint.h>

#include "kernels/units.h"

namespace ingle::kernels {
namespace {

struct Dots {
  static constexpr bool kSignedCodes = true;
  template <int lane>
  static inline int32x4_t dot(int32x4_t sum, uint8x16_t codes, int8x16_t activations) {
    return vdotq_laneq_s32(sum, vreinterpretq_s8_u8(codes), activations, lane);
  }
};

}  // namespace
}  // namespace ingle::kernels

#include "kernels/arm/neon_tile.h"

namespace ingle::kernels {
namespace {

#define INGLE_ROW(name, layout)                                                            \
  {name "_q8_gemm_neondot_r16", "neondot", name, layout, kActQ8, run_strips<Neon<layout>>, \
   strip_scratch<Neon<layout>>},
constexpr MatmulRow kMatmulRows[] = {INGLE_CODE_ROWS(INGLE_ROW)};
#undef INGLE_ROW

}  // namespace

extern "C" const MatmulUnit ingle_matmul_neondot = {kMatmulRows, sizeof kMatmulRows / sizeof kMatmulRows[0]};

}  // namespace ingle::kernels
