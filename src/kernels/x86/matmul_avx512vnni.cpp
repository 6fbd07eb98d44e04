// Integer matmul tiles with AVX-512 VNNI: one block of 16 rows is unpacked into eight registers, and each
// token of the tile takes eight vpdpbusd with its activations as a broadcast memory operand. Lanes are rows.
#ifdef INGLE_SIMDE  // a test's emulation of the intrinsics (tests/kernels/simde_shim.h)
#include INGLE_SIMDE
#else
#include <immintrin.h>
#endif
#include <stdint.h>

#include "kernels/code_rows.h"
#include "kernels/isa.h"
#include "kernels/layout.h"
#include "kernels/strips.h"
#include "kernels/units.h"
#include "kernels/x86/avx512_ends.h"

namespace ingle::kernels {
namespace {

inline __m512i load64(const uint8_t* p) { return _mm512_load_si512(reinterpret_cast<const void*>(p)); }
inline __m512i load_epi32x16(const uint8_t* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm512_set1_epi32(v);
}
inline __m512 load_psx16(const uint8_t* p) {
  float v;
  __builtin_memcpy(&v, p, 4);
  return _mm512_set1_ps(v);
}
inline __m512 halves(const uint8_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline __m512 bytes_u(const uint8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
inline __m512 bf16s(const uint8_t* p) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
inline __m512 low_nibbles(const uint8_t* p) {
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_and_si128(v, _mm_set1_epi8(15))));
}
inline __m512 high_nibbles(const uint8_t* p) {
  const __m128i v = _mm_srli_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), 4);
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_and_si128(v, _mm_set1_epi8(15))));
}
inline __m512 bytes_s(const uint8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

// Keeps GCC from hoisting products out of the loop and spilling them.
#ifdef INGLE_SIMDE
#define INGLE_PIN(x)
#else
#define INGLE_PIN(x) asm("" : "+v"(x))
#endif

template <int kShift>
INGLE_INLINE __m512i
shifted(__m512i v) {  // bits move left by kShift, right when it is negative; across bytes
  if constexpr (kShift > 0) return _mm512_slli_epi16(v, kShift);
  if constexpr (kShift < 0) return _mm512_srli_epi16(v, -kShift);
  return v;
}

template <int j>
INGLE_INLINE void add_fifth(__m512i (&w)[8], __m512i plane) {
  const __m512i bit = _mm512_set1_epi8(16);
  w[j] = _mm512_or_si512(w[j], _mm512_and_si512(shifted<4 - j>(plane), bit));
}
template <int i>
INGLE_INLINE void add_two_bits(__m512i (&w)[8], __m512i low, __m512i high) {
  const __m512i bits = _mm512_set1_epi8(48);
  w[i] = _mm512_or_si512(w[i], _mm512_and_si512(shifted<4 - 2 * i>(low), bits));
  w[i + 4] = _mm512_or_si512(w[i + 4], _mm512_and_si512(shifted<4 - 2 * i>(high), bits));
}

template <int i, bool kThird>
INGLE_INLINE void take_two_bits(__m512i (&w)[8], __m512i low, __m512i high, __m512i third) {
  const __m512i bits = _mm512_set1_epi8(3), bit = _mm512_set1_epi8(4);
  w[i] = _mm512_and_si512(shifted<-2 * i>(low), bits);
  w[i + 4] = _mm512_and_si512(shifted<-2 * i>(high), bits);
  if constexpr (kThird) {
    w[i] = _mm512_or_si512(w[i], _mm512_and_si512(shifted<2 - i>(third), bit));
    w[i + 4] = _mm512_or_si512(w[i + 4], _mm512_and_si512(shifted<-2 - i>(third), bit));
  }
}

template <int kBits>
INGLE_INLINE void unpack_bits(const uint8_t* codes, __m512i (&w)[8]) {
  if constexpr (kBits == 8) {
    INGLE_UNROLL for (int j = 0; j < 8; ++j) w[j] = load64(codes + 64 * j);
    return;
  }
  if constexpr (kBits < 4) {
    const __m512i low = load64(codes), high = load64(codes + 64);
    const __m512i third = kBits == 3 ? load64(codes + 128) : low;
    take_two_bits<0, kBits == 3>(w, low, high, third);
    take_two_bits<1, kBits == 3>(w, low, high, third);
    take_two_bits<2, kBits == 3>(w, low, high, third);
    take_two_bits<3, kBits == 3>(w, low, high, third);
    return;
  }
  const __m512i nibble = _mm512_set1_epi8(15);
  INGLE_UNROLL for (int i = 0; i < 4; ++i) {
    const __m512i both = load64(codes + 64 * i);
    w[i] = _mm512_and_si512(both, nibble);
    w[i + 4] = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble);
  }
  if constexpr (kBits == 5) {
    const __m512i plane = load64(codes + 256);
    add_fifth<0>(w, plane);
    add_fifth<1>(w, plane);
    add_fifth<2>(w, plane);
    add_fifth<3>(w, plane);
    add_fifth<4>(w, plane);
    add_fifth<5>(w, plane);
    add_fifth<6>(w, plane);
    add_fifth<7>(w, plane);
  }
  if constexpr (kBits == 6) {
    const __m512i low = load64(codes + 256), high = load64(codes + 320);
    add_two_bits<0>(w, low, high);
    add_two_bits<1>(w, low, high);
    add_two_bits<2>(w, low, high);
    add_two_bits<3>(w, low, high);
  }
}
template <int kBits, int kTable>
INGLE_INLINE void unpack(const uint8_t* codes, __m512i (&w)[8]) {
  unpack_bits<kBits>(codes, w);
  if constexpr (kTable != kTableNone) {
    const __m512i steps = load64(kStepTable<kTable>.codes);
    INGLE_UNROLL for (int j = 0; j < 8; ++j) w[j] = _mm512_shuffle_epi8(steps, w[j]);
  }
}

struct Scales {
  __m512 scale[2], min[2];  // of each half of a block; the second ones only for sub-blocks of 16
};
template <int kId>
INGLE_INLINE void read_scales(const uint8_t* scales, const uint8_t* super, Scales& s) {
  constexpr LayoutSpec kSpec = layout_spec(kId);
  constexpr int kSubs = kSpec.sub == 16 ? 2 : 1;
  INGLE_UNROLL for (int h = 0; h < kSubs; ++h) {
    if constexpr (kSpec.scales == kScaleBf16) {
      s.scale[h] = bf16s(scales + 32 * h);
    } else if constexpr (kSpec.scales == kScaleHalf) {
      s.scale[h] = halves(scales + 32 * h);
      if constexpr (kSpec.has_min()) s.min[h] = halves(scales + 32);
    } else if constexpr (kSpec.has_min()) {
      s.scale[h] = _mm512_mul_ps(halves(super), kSubs == 2 ? low_nibbles(scales + 16 * h) : bytes_u(scales));
      const __m512 min = kSubs == 2 ? high_nibbles(scales + 16 * h) : bytes_u(scales + 16);
      s.min[h] = _mm512_sub_ps(_mm512_setzero_ps(), _mm512_mul_ps(halves(super + 32), min));
    } else {
      s.scale[h] = _mm512_mul_ps(halves(super), bytes_s(scales + 16 * h));
    }
    if constexpr (kSpec.shift > 0)
      s.scale[h] = _mm512_mul_ps(s.scale[h], _mm512_set1_ps(1.0f / static_cast<float>(1 << kSpec.shift)));
  }
}

template <int kId, int kWidestTile>
struct Vnni {
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = kWidestTile;
  static constexpr int64_t kSlice = 1024;
  static constexpr int64_t kPanelBytes = 0;
  static constexpr LayoutSpec kSpec = layout_spec(kId);
  static constexpr int32_t kRecord = record_bytes<kId>();
  static constexpr bool kHasMin = kSpec.has_min();

  static int64_t strip_bytes(int64_t k) { return k / kBlock * kRecord; }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_strip<kId>(x, part, out);
  }

  // kFew tokens from record `a` on: the k-groups [j0, j1) against one sub-block's scale (and min).
  template <int kFew, int j0, int j1>
  static INGLE_INLINE void apply(const __m512i (&w)[8], const uint8_t* a, __m512 scale, __m512 min,
                                 __m512* acc) {
    __m512i dot[kFew];
    INGLE_UNROLL for (int t = 0; t < kFew; ++t) dot[t] =
        kHasMin ? _mm512_setzero_si512() : load_epi32x16(a + t * kRecord + 36 + (j0 ? 4 : 0));
    INGLE_UNROLL for (int j = j0; j < j1; ++j) INGLE_UNROLL for (int t = 0; t < kFew; ++t) {
      dot[t] = _mm512_dpbusd_epi32(dot[t], w[j], load_epi32x16(a + t * kRecord + 4 * j));
      INGLE_PIN(dot[t]);
    }
    INGLE_UNROLL for (int t = 0; t < kFew; ++t) {
      const __m512 product = _mm512_mul_ps(scale, load_psx16(a + t * kRecord + 32));
      acc[t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[t]), product, acc[t]);
      if constexpr (kHasMin)
        acc[t] = _mm512_fmadd_ps(min, load_psx16(a + t * kRecord + 36 + (j0 ? 4 : 0)), acc[t]);
      INGLE_PIN(acc[t]);
    }
  }

  template <int kTokens, int kFew>
  static INGLE_INLINE void apply_all(const __m512i (&w)[8], const uint8_t* a, const Scales& s,
                                     __m512 (&acc)[kTokens]) {
    INGLE_UNROLL for (int t = 0; t < kTokens; t += kFew) {
      if constexpr (kSpec.sub == 32) {
        apply<kFew, 0, 8>(w, a + t * kRecord, s.scale[0], s.min[0], acc + t);
      } else {
        apply<kFew, 0, 4>(w, a + t * kRecord, s.scale[0], s.min[0], acc + t);
        apply<kFew, 4, 8>(w, a + t * kRecord, s.scale[1], s.min[1], acc + t);
      }
    }
  }

  template <int kTokens>
  __attribute__((noinline)) static void tile(const uint8_t* w, const uint8_t* strip, int64_t k,
                                             const TileOut& out) {
    constexpr int kFew = kTokens % 4 == 0 ? 4 : kTokens % 3 == 0 ? 3 : kTokens;
    __m512 acc[kTokens];
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) acc[t] = start_tile(out, t);
    const int64_t blocks = k / kBlock;
    const uint8_t* codes = w;
    const uint8_t* super = w;
    for (int64_t b = 0; b < blocks; ++b) {
      if constexpr (kSpec.super()) {
        if (b % kSuperBlocks == 0) {
          super = codes;
          codes += kSuperHeader;
        }
      }
      const bool odd = b % 2 != 0;
      const uint8_t* scales = odd ? codes - kSpec.scale_bytes : codes + kSpec.code_bytes;
      for (int line = 0; line < kSpec.code_bytes + kSpec.scale_bytes; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(codes + line + 2048), _MM_HINT_T0);
      __m512i u[8];
      unpack<kSpec.bits, kSpec.table>(codes, u);
      Scales s = {};
      read_scales<kId>(scales, super, s);
      apply_all<kTokens, kFew>(u, strip, s, acc);
      strip += kTokens * kRecord;
      codes += odd ? kSpec.code_bytes : kSpec.code_bytes + 2 * kSpec.scale_bytes;
    }
    finish_tile<kTokens>(out, acc);
  }
};

#define INGLE_ROW(name, layout)                                                                      \
  {name "_q8_gemm_avx512vnni_r16", "avx512vnni", name, layout, kActQ8, run_strips<Vnni<layout, 12>>, \
   strip_scratch<Vnni<layout, 12>>},
#ifdef INGLE_SIMDE
constexpr MatmulRow kMatmulRows[] = {INGLE_SOME_CODE_ROWS(INGLE_ROW)};
#else
constexpr MatmulRow kMatmulRows[] = {INGLE_CODE_ROWS(INGLE_ROW)};
#endif
#undef INGLE_ROW

}  // namespace

#ifndef INGLE_SIMDE
extern "C" const MatmulUnit ingle_matmul_avx512vnni = {kMatmulRows,
                                                       sizeof kMatmulRows / sizeof kMatmulRows[0]};
#endif

}  // namespace ingle::kernels
