// bf16 weights times activations rounded to bf16, by vdpbf16ps: per lane two fused multiply-adds, the odd
// element of a pair first, subnormals as zeros, rounding to nearest even whatever MXCSR says. Lanes are rows.
#include <immintrin.h>
#include <stdint.h>

#include "kernels/isa.h"
#include "kernels/layout.h"
#include "kernels/strips.h"
#include "kernels/units.h"
#include "kernels/x86/avx512_ends.h"

namespace ingle::kernels {
namespace {

struct Bf16 {
  static constexpr int32_t kLayout = kLayoutBf16Pairs;
  static constexpr int64_t kWidest = 12;
  static constexpr int64_t kSlice = 512;  // of a group: 16 KB
  static constexpr int64_t kPanelBytes = 0;
  static int64_t strip_bytes(int64_t k) { return bf16_strip_bytes(k); }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_bf16_strip(x, part, reinterpret_cast<uint32_t*>(out));
  }

  template <int kTokens>
  __attribute__((noinline)) static void tile(const uint8_t* w, const uint8_t* strip, int64_t k,
                                             const TileOut& out) {
    const auto* x = reinterpret_cast<const int32_t*>(strip);
    __m512 acc[kTokens];
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) acc[t] = start_tile(out, t);
    for (int64_t i = 0; i < (k + 1) / 2; ++i, w += 64, x += kTokens) {
      if constexpr (kTokens <= 4) _mm_prefetch(reinterpret_cast<const char*>(w + 2048), _MM_HINT_T0);
      const auto pairs = (__m512bh)_mm512_load_si512(reinterpret_cast<const void*>(w));
      INGLE_UNROLL for (int t = 0; t < kTokens; ++t) acc[t] =
          _mm512_dpbf16_ps(acc[t], pairs, (__m512bh)_mm512_set1_epi32(x[t]));
    }
    finish_tile<kTokens>(out, acc);
  }
};

constexpr MatmulRow kMatmulRows[] = {
    {"bf16_bf16_gemm_avx512bf16_r16", "avx512bf16", "bf16", kLayoutBf16Pairs, kActBf16, run_strips<Bf16>,
     strip_scratch<Bf16>},
};

}  // namespace

extern "C" const MatmulUnit ingle_matmul_avx512bf16 = {kMatmulRows, 1};

}  // namespace ingle::kernels
