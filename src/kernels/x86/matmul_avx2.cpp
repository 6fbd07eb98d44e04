// Matmul tiles with AVX2, FMA and F16C. A group of 16 rows is two halves of 8: the bytes are those that
// AVX-512 reads. Products of unsigned codes and int8 activations are summed in int16 for as long as they
// cannot overflow (2 * 15 * 127 * 8, 2 * 31 * 127 * 4 and 2 * 63 * 127 * 2 are below 32768), then widened.
#include <immintrin.h>
#include <stdint.h>

#include "kernels/code_rows.h"
#include "kernels/isa.h"
#include "kernels/layout.h"
#include "kernels/strips.h"
#include "kernels/units.h"
#include "kernels/x86/avx2_ends.h"

namespace ingle::kernels {
namespace {

// Keeps GCC from hoisting products out of the loop and spilling them.
#define INGLE_PIN(x) asm("" : "+x"(x))

INGLE_INLINE __m256i load32(const uint8_t* p) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
}
INGLE_INLINE __m256i load_epi32x8(const uint8_t* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm256_set1_epi32(v);
}
INGLE_INLINE __m256 load_psx8(const uint8_t* p) {
  return _mm256_broadcast_ss(reinterpret_cast<const float*>(p));
}
INGLE_INLINE __m256 halves(const uint8_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
INGLE_INLINE __m256 bytes_u(const uint8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
INGLE_INLINE __m256 bf16s(const uint8_t* p) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
INGLE_INLINE __m256 low_nibbles(const uint8_t* p) {
  const __m128i v = _mm_and_si128(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)), _mm_set1_epi8(15));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(v));
}
INGLE_INLINE __m256 high_nibbles(const uint8_t* p) {
  const __m128i v = _mm_srli_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)), 4);
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_and_si128(v, _mm_set1_epi8(15))));
}
INGLE_INLINE __m256 bytes_s(const uint8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

template <int kShift>
INGLE_INLINE __m256i shifted(__m256i v) {
  if constexpr (kShift > 0) return _mm256_slli_epi16(v, kShift);
  if constexpr (kShift < 0) return _mm256_srli_epi16(v, -kShift);
  return v;
}

// Codes above 127 do not fit into the sums of products, so they are two dots: of the low four bits, and of
// the high ones.
constexpr bool is_split(const LayoutSpec& s) { return s.top > 127; }

// What is kept of the codes of k-group j, below 8, for 8 rows (`codes` is at their half of each 64 bytes).
template <int kBits, int j>
INGLE_INLINE __m256i unpack_bits(const uint8_t* codes) {
  constexpr int at = j % 4;
  if constexpr (kBits < 4) {
    __m256i w = _mm256_and_si256(shifted<-2 * at>(load32(codes + 64 * (j / 4))), _mm256_set1_epi8(3));
    if constexpr (kBits == 3)
      w = _mm256_or_si256(w, _mm256_and_si256(shifted<2 - j>(load32(codes + 128)), _mm256_set1_epi8(4)));
    return w;
  }
  __m256i w = load32(codes + 64 * at);
  if constexpr (j != at) w = _mm256_srli_epi16(w, 4);
  w = _mm256_and_si256(w, _mm256_set1_epi8(15));
  if constexpr (kBits == 5) {
    const __m256i bit = _mm256_set1_epi8(16);
    w = _mm256_or_si256(w, _mm256_and_si256(shifted<4 - j>(load32(codes + 256)), bit));
  }
  if constexpr (kBits == 6) {
    const __m256i bits = _mm256_set1_epi8(48);
    w = _mm256_or_si256(w, _mm256_and_si256(shifted<4 - 2 * at>(load32(codes + (j < 4 ? 256 : 320))), bits));
  }
  return w;
}

// The tables of split codes: their low and their high four bits.
template <int kTable, int kHalf>
struct SplitTable {
  alignas(32) uint8_t codes[32];
  constexpr SplitTable() : codes() {
    for (int i = 0; i < 32; ++i)
      codes[i] = kHalf ? kStepTable<kTable>.codes[i] >> 4 : kStepTable<kTable>.codes[i] & 15;
  }
};
template <int kTable, int kHalf>
constexpr SplitTable<kTable, kHalf> kSplitTable;

// The code of k-group j; for split ones, the low bits of k-groups 0 … 7 and then the high ones.
template <int kId, int j>
INGLE_INLINE __m256i unpack(const uint8_t* codes) {
  constexpr LayoutSpec s = layout_spec(kId);
  if constexpr (s.bits == 8) {
    __m256i w = load32(codes + 64 * (j % 8));
    if constexpr (j >= 8) w = _mm256_srli_epi16(w, 4);
    return _mm256_and_si256(w, _mm256_set1_epi8(15));
  } else {
    const __m256i w = unpack_bits<s.bits, j % 8>(codes);
    if constexpr (s.table == kTableNone) return w;
    if constexpr (is_split(s)) return _mm256_shuffle_epi8(load32(kSplitTable<s.table, j / 8>.codes), w);
    return _mm256_shuffle_epi8(load32(kStepTable<s.table>.codes), w);
  }
}

// A panel is one slice of a group unpacked for five tokens or more: for each block its codes as bytes,
// k-group after k-group, then its f32 scales, of each sub-block: scale[16], and min[16] in formats that have
// one.
template <int kId>
struct PanelShape {
  static constexpr LayoutSpec kSpec = layout_spec(kId);
  static constexpr bool kHasMin = kSpec.has_min();
  static constexpr int64_t kGroups = is_split(kSpec) ? 16 : 8;
  static constexpr int64_t kCodeBytes = kGroups * 64;
  static constexpr int64_t kSubs = kSpec.sub == 16 ? 2 : 1;
  static constexpr int64_t kBytes = kCodeBytes + 64 * kSubs * (kHasMin ? 2 : 1);
};

template <int kId, bool kFromPanel = false>
struct Avx2 {
  using Panel = Avx2<kId, true>;
  using Shape = PanelShape<kId>;
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = 4;
  static constexpr int64_t kSlice =
      is_split(layout_spec(kId)) ? 512 : 1024;  // a panel fits the first-level cache
  static constexpr int64_t kPanelBytes = kSlice / kBlock * Shape::kBytes;
  static constexpr LayoutSpec kSpec = layout_spec(kId);
  static constexpr int32_t kRecord = record_bytes<kId>();
  static constexpr bool kHasMin = kSpec.has_min();

  static int64_t strip_bytes(int64_t k) { return k / kBlock * kRecord; }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_strip<kId>(x, part, out);
  }

  // Products of k-groups [j, j_end) of 16 rows with each token, summed in int16.
  template <int j>
  static INGLE_INLINE __m256i code(const uint8_t* codes) {
    if constexpr (kFromPanel) return load32(codes + 64 * j);
    return unpack<kId, j>(codes);
  }
  template <int kTokens, int j, int j_end>
  static INGLE_INLINE void products(const uint8_t* codes, const uint8_t* a, __m256i (&sum)[2][kTokens]) {
    const __m256i w0 = code<j>(codes), w1 = code<j>(codes + 32);
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) {
      const __m256i x = load_epi32x8(a + t * kRecord + 4 * (j % 8));
      sum[0][t] = _mm256_add_epi16(sum[0][t], _mm256_maddubs_epi16(w0, x));
      INGLE_PIN(sum[0][t]);
      sum[1][t] = _mm256_add_epi16(sum[1][t], _mm256_maddubs_epi16(w1, x));
      INGLE_PIN(sum[1][t]);
    }
    if constexpr (j + 1 < j_end) products<kTokens, j + 1, j_end>(codes, a, sum);
  }

  // The same as int32, `factor` times, added to `dot` (or starting it).
  template <int kTokens, int j, int j_end, int factor, bool starts>
  static INGLE_INLINE void add_dots(const uint8_t* codes, const uint8_t* a, __m256i (&dot)[2][kTokens]) {
    asm volatile("" : "+r"(a));  // or GCC keeps broadcasts of an earlier phase for this one, on the stack
    __m256i sum[2][kTokens];
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) sum[0][t] = sum[1][t] = _mm256_setzero_si256();
    products<kTokens, j, j_end>(codes, a, sum);
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) {
      const __m256i low = _mm256_madd_epi16(sum[0][t], _mm256_set1_epi16(factor));
      const __m256i high = _mm256_madd_epi16(sum[1][t], _mm256_set1_epi16(factor));
      dot[0][t] = starts ? low : _mm256_add_epi32(dot[0][t], low);
      dot[1][t] = starts ? high : _mm256_add_epi32(dot[1][t], high);
    }
  }

  // One sub-block's dots into the f32 chains. `start` is where a zero point's share stands in a record.
  template <int kTokens, int start>
  static INGLE_INLINE void finish(const uint8_t* a, const __m256 (&scale)[2], const __m256 (&min)[2],
                                  const __m256i (&dot)[2][kTokens], __m256 (&acc)[2][kTokens]) {
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) {
      const __m256 d = load_psx8(a + t * kRecord + 32);
      INGLE_UNROLL for (int h = 0; h < 2; ++h) {
        __m256i total = dot[h][t];
        if constexpr (!kHasMin) total = _mm256_add_epi32(total, load_epi32x8(a + t * kRecord + start));
        acc[h][t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(total), _mm256_mul_ps(scale[h], d), acc[h][t]);
        if constexpr (kHasMin)
          acc[h][t] = _mm256_fmadd_ps(min[h], load_psx8(a + t * kRecord + start), acc[h][t]);
      }
    }
  }

  struct Scales {
    __m256 scale[2][2], min[2][2];  // [sub-block][half]; the second sub-block only for those of 16
  };
  static INGLE_INLINE void read_scales(const uint8_t* scales, const uint8_t* super, Scales& s) {
    constexpr int kSubs = Shape::kSubs;
    INGLE_UNROLL for (int sub = 0; sub < kSubs; ++sub) INGLE_UNROLL for (int h = 0; h < 2; ++h) {
      const uint8_t* bytes = scales + 16 * sub + 8 * h;
      if constexpr (kSpec.scales == kScaleBf16) {
        s.scale[sub][h] = bf16s(scales + 32 * sub + 16 * h);
      } else if constexpr (kSpec.scales == kScaleHalf) {
        s.scale[sub][h] = halves(scales + 32 * sub + 16 * h);
        if constexpr (kHasMin) s.min[sub][h] = halves(scales + 32 + 16 * h);
      } else if constexpr (kHasMin) {
        s.scale[sub][h] =
            _mm256_mul_ps(halves(super + 16 * h), kSubs == 2 ? low_nibbles(bytes) : bytes_u(bytes));
        const __m256 min = kSubs == 2 ? high_nibbles(bytes) : bytes_u(scales + 16 + 8 * h);
        s.min[sub][h] = _mm256_sub_ps(_mm256_setzero_ps(), _mm256_mul_ps(halves(super + 32 + 16 * h), min));
      } else {
        s.scale[sub][h] = _mm256_mul_ps(halves(super + 16 * h), bytes_s(bytes));
      }
      if constexpr (kSpec.shift > 0)
        s.scale[sub][h] =
            _mm256_mul_ps(s.scale[sub][h], _mm256_set1_ps(1.0f / static_cast<float>(1 << kSpec.shift)));
    }
  }

  // Products of codes up to `top` stay below 2^15 for this many k-groups of four.
  static constexpr int kRun = is_split(kSpec)                     ? 8
                              : 32767 / (2 * 127 * kSpec.top) < 8 ? 32767 / (2 * 127 * kSpec.top)
                                                                  : 8;
  // The dots of k-groups [j, j_end), summed in int16 for kRun of them at a time.
  template <int kTokens, int j, int j_end, int factor, bool starts>
  static INGLE_INLINE void add_runs(const uint8_t* codes, const uint8_t* a, __m256i (&dot)[2][kTokens]) {
    constexpr int next = j + kRun < j_end ? j + kRun : j_end;
    add_dots<kTokens, j, next, factor, starts>(codes, a, dot);
    if constexpr (next < j_end) add_runs<kTokens, next, j_end, factor, false>(codes, a, dot);
  }

  template <int kTokens>
  static INGLE_INLINE void block(const uint8_t* codes, const uint8_t* a, const Scales& s,
                                 __m256 (&acc)[2][kTokens]) {
    __m256i dot[2][kTokens];
    if constexpr (is_split(kSpec)) {
      static_assert(kSpec.sub == 32);
      add_dots<kTokens, 0, 8, 1, true>(codes, a, dot);
      add_dots<kTokens, 8, 16, 16, false>(codes, a, dot);
      finish<kTokens, 36>(a, s.scale[0], s.min[0], dot, acc);
    } else if constexpr (kSpec.sub == 32) {
      add_runs<kTokens, 0, 8, 1, true>(codes, a, dot);
      finish<kTokens, 36>(a, s.scale[0], s.min[0], dot, acc);
    } else {
      add_runs<kTokens, 0, 4, 1, true>(codes, a, dot);
      finish<kTokens, 36>(a, s.scale[0], s.min[0], dot, acc);
      add_runs<kTokens, 4, 8, 1, true>(codes, a, dot);
      finish<kTokens, 40>(a, s.scale[1], s.min[1], dot, acc);
    }
  }

  // Walks the blocks of packed weights: the codes, scales and super-block of each.
  struct Walk {
    const uint8_t* codes;
    const uint8_t* super;
    const uint8_t* scales;
    explicit Walk(const uint8_t* w) : codes(w), super(w), scales(w) {}
    INGLE_INLINE void enter(int64_t b) {
      if constexpr (kSpec.super()) {
        if (b % kSuperBlocks == 0) {
          super = codes;
          codes += kSuperHeader;
        }
      }
      scales = b % 2 != 0 ? codes - kSpec.scale_bytes : codes + kSpec.code_bytes;
      for (int line = 0; line < kSpec.code_bytes + kSpec.scale_bytes; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(codes + line + 2048), _MM_HINT_T0);
    }
    INGLE_INLINE void leave(int64_t b) {
      codes += kSpec.code_bytes + (b % 2 != 0 ? 0 : 2 * kSpec.scale_bytes);
    }
  };

  template <int j>
  static INGLE_INLINE void unpack_from(const uint8_t* codes, uint8_t* to) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 64 * j), unpack<kId, j>(codes));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 64 * j + 32), unpack<kId, j>(codes + 32));
    if constexpr (j + 1 < Shape::kGroups) unpack_from<j + 1>(codes, to);
  }
  __attribute__((noinline)) static void unpack_panel(const uint8_t* w, int64_t k, uint8_t* panel) {
    Walk walk(w);
    for (int64_t b = 0; b < k / kBlock; ++b, panel += Shape::kBytes) {
      walk.enter(b);
      unpack_from<0>(walk.codes, panel);
      Scales s = {};
      read_scales(walk.scales, walk.super, s);
      auto* to = reinterpret_cast<float*>(panel + Shape::kCodeBytes);
      for (int sub = 0; sub < Shape::kSubs; ++sub)
        for (int h = 0; h < 2; ++h) {
          _mm256_store_ps(to + 16 * sub + 8 * h, s.scale[sub][h]);
          if constexpr (kHasMin) _mm256_store_ps(to + 16 * (Shape::kSubs + sub) + 8 * h, s.min[sub][h]);
        }
      walk.leave(b);
    }
  }
  static INGLE_INLINE void panel_scales(const uint8_t* panel, Scales& s) {
    const auto* from = reinterpret_cast<const float*>(panel + Shape::kCodeBytes);
    INGLE_UNROLL for (int sub = 0; sub < Shape::kSubs; ++sub) INGLE_UNROLL for (int h = 0; h < 2; ++h) {
      s.scale[sub][h] = _mm256_load_ps(from + 16 * sub + 8 * h);
      if constexpr (kHasMin) s.min[sub][h] = _mm256_load_ps(from + 16 * (Shape::kSubs + sub) + 8 * h);
    }
  }

  template <int kTokens>
  __attribute__((noinline)) static void tile(const uint8_t* w, const uint8_t* strip, int64_t k,
                                             const TileOut& out) {
    __m256 acc[2][kTokens];
    INGLE_UNROLL for (int t = 0; t < kTokens; ++t) {
      acc[0][t] = start_half(out, t, 0);
      acc[1][t] = start_half(out, t, 8);
    }
    Walk walk(w);
    for (int64_t b = 0; b < k / kBlock; ++b, strip += kTokens * kRecord) {
      Scales s = {};
      if constexpr (kFromPanel) {
        panel_scales(w + b * Shape::kBytes, s);
        block<kTokens>(w + b * Shape::kBytes, strip, s, acc);
      } else {
        walk.enter(b);
        read_scales(walk.scales, walk.super, s);
        block<kTokens>(walk.codes, strip, s, acc);
        walk.leave(b);
      }
    }
    finish_tile<kTokens>(out, acc);
  }
};

#define INGLE_Q8(name, layout)                                                         \
  {name "_q8_gemm_avx2_r16",   "avx2", name, layout, kActQ8, run_strips<Avx2<layout>>, \
   strip_scratch<Avx2<layout>>},
constexpr MatmulRow kMatmulRows[] = {INGLE_CODE_ROWS(INGLE_Q8)};
#undef INGLE_Q8

}  // namespace

extern "C" const MatmulUnit ingle_matmul_avx2 = {kMatmulRows, sizeof kMatmulRows / sizeof kMatmulRows[0]};

}  // namespace ingle::kernels
