// Integer matmul tiles with NEON, for units that have a dot product of bytes. A block of 16 rows is taken in
// quarters of four, unpacked into eight registers; each token takes eight dot products by lane. Lanes are
// rows. The including unit defines Dots:
//   static constexpr bool kSignedCodes;  // codes come less 128 where they do not fit seven bits
//   template <int lane> static int32x4_t dot(int32x4_t sum, uint8x16_t codes, int8x16_t activations);
#pragma once
#include <stdint.h>

#include "kernels/arm/neon_ends.h"
#include "kernels/code_rows.h"
#include "kernels/isa.h"
#include "kernels/layout.h"
#include "kernels/strips.h"

namespace ingle::kernels {
namespace {

inline float read_f32(const uint8_t* p) {
  float v;
  __builtin_memcpy(&v, p, 4);
  return v;
}
inline int32_t read_i32(const uint8_t* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return v;
}
INGLE_INLINE float32x4_t halves(const uint8_t* p) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p))); }
INGLE_INLINE float32x4_t bf16s(const uint8_t* p) {
  return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p)), 16));
}
INGLE_INLINE uint32x4_t four_bytes(const uint8_t* p) {
  uint32_t v;
  __builtin_memcpy(&v, p, 4);
  return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(v))));
}
INGLE_INLINE float32x4_t bytes_u(const uint8_t* p) { return vcvtq_f32_u32(four_bytes(p)); }
INGLE_INLINE float32x4_t bytes_s(const uint8_t* p) {
  uint32_t v;
  __builtin_memcpy(&v, p, 4);
  return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(v)))));
}
INGLE_INLINE float32x4_t low_nibbles(const uint8_t* p) {
  return vcvtq_f32_u32(vandq_u32(four_bytes(p), vdupq_n_u32(15)));
}
INGLE_INLINE float32x4_t high_nibbles(const uint8_t* p) {
  return vcvtq_f32_u32(vshrq_n_u32(four_bytes(p), 4));
}

template <int kShift>
INGLE_INLINE uint8x16_t shifted(uint8x16_t v) {  // bits move left by kShift, right when it is negative
  if constexpr (kShift > 0) return vshlq_n_u8(v, kShift);
  if constexpr (kShift < 0) return vshrq_n_u8(v, -kShift);
  return v;
}
template <int j>
INGLE_INLINE void add_fifth(uint8x16_t (&w)[8], uint8x16_t plane) {
  w[j] = vorrq_u8(w[j], vandq_u8(shifted<4 - j>(plane), vdupq_n_u8(16)));
}
template <int i>
INGLE_INLINE void add_two_bits(uint8x16_t (&w)[8], uint8x16_t low, uint8x16_t high) {
  w[i] = vorrq_u8(w[i], vandq_u8(shifted<4 - 2 * i>(low), vdupq_n_u8(48)));
  w[i + 4] = vorrq_u8(w[i + 4], vandq_u8(shifted<4 - 2 * i>(high), vdupq_n_u8(48)));
}
template <int i, bool kThird>
INGLE_INLINE void take_two_bits(uint8x16_t (&w)[8], uint8x16_t low, uint8x16_t high, uint8x16_t third) {
  w[i] = vandq_u8(shifted<-2 * i>(low), vdupq_n_u8(3));
  w[i + 4] = vandq_u8(shifted<-2 * i>(high), vdupq_n_u8(3));
  if constexpr (kThird) {
    w[i] = vorrq_u8(w[i], vandq_u8(shifted<2 - i>(third), vdupq_n_u8(4)));
    w[i + 4] = vorrq_u8(w[i + 4], vandq_u8(shifted<-2 - i>(third), vdupq_n_u8(4)));
  }
}

// One quarter of the planes that `codes` (already moved to that quarter) begins.
template <int kBits>
INGLE_INLINE void unpack_bits(const uint8_t* codes, uint8x16_t (&w)[8]) {
  if constexpr (kBits == 8) {
    INGLE_UNROLL for (int j = 0; j < 8; ++j) w[j] = vld1q_u8(codes + 64 * j);
    return;
  }
  if constexpr (kBits < 4) {
    const uint8x16_t low = vld1q_u8(codes), high = vld1q_u8(codes + 64);
    const uint8x16_t third = kBits == 3 ? vld1q_u8(codes + 128) : low;
    take_two_bits<0, kBits == 3>(w, low, high, third);
    take_two_bits<1, kBits == 3>(w, low, high, third);
    take_two_bits<2, kBits == 3>(w, low, high, third);
    take_two_bits<3, kBits == 3>(w, low, high, third);
    return;
  }
  INGLE_UNROLL for (int i = 0; i < 4; ++i) {
    const uint8x16_t both = vld1q_u8(codes + 64 * i);
    w[i] = vandq_u8(both, vdupq_n_u8(15));
    w[i + 4] = vshrq_n_u8(both, 4);
  }
  if constexpr (kBits == 5) {
    const uint8x16_t plane = vld1q_u8(codes + 256);
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
    const uint8x16_t low = vld1q_u8(codes + 256), high = vld1q_u8(codes + 320);
    add_two_bits<0>(w, low, high);
    add_two_bits<1>(w, low, high);
    add_two_bits<2>(w, low, high);
    add_two_bits<3>(w, low, high);
  }
}

struct Scales {
  float32x4_t scale[2], min[2];  // of each half of a block; the second ones only for sub-blocks of 16
};
template <int kId>
INGLE_INLINE void read_scales(const uint8_t* scales, const uint8_t* super, int quarter, Scales& s) {
  constexpr LayoutSpec kSpec = layout_spec(kId);
  constexpr int kSubs = kSpec.sub == 16 ? 2 : 1;
  INGLE_UNROLL for (int h = 0; h < kSubs; ++h) {
    const uint8_t* two = scales + 32 * h + 8 * quarter;  // where scales have two bytes
    const uint8_t* one = scales + 16 * h + 4 * quarter;
    if constexpr (kSpec.scales == kScaleBf16) {
      s.scale[h] = bf16s(two);
    } else if constexpr (kSpec.scales == kScaleHalf) {
      s.scale[h] = halves(two);
      if constexpr (kSpec.has_min()) s.min[h] = halves(scales + 32 + 8 * quarter);
    } else if constexpr (kSpec.has_min()) {
      s.scale[h] = vmulq_f32(halves(super + 8 * quarter), kSubs == 2 ? low_nibbles(one) : bytes_u(one));
      const float32x4_t min = kSubs == 2 ? high_nibbles(one) : bytes_u(one + 16);
      s.min[h] = vsubq_f32(vdupq_n_f32(0), vmulq_f32(halves(super + 32 + 8 * quarter), min));
    } else {
      s.scale[h] = vmulq_f32(halves(super + 8 * quarter), bytes_s(one));
    }
    if constexpr (kSpec.shift > 0)
      s.scale[h] = vmulq_n_f32(s.scale[h], 1.0f / static_cast<float>(1 << kSpec.shift));
  }
}

template <int kId>
struct Neon {
  static constexpr int32_t kLayout = kId;
  static constexpr int64_t kWidest = 4;
  static constexpr int64_t kSlice = 1024;
  static constexpr int64_t kPanelBytes = 0;
  static constexpr LayoutSpec kSpec = layout_spec(kId);
  static constexpr int32_t kRecord = record_bytes<kId>();
  static constexpr bool kHasMin = kSpec.has_min();
  // Codes of eight bits less 128 are what the zero point of 128 makes of them anyway.
  static constexpr bool kShifted = Dots::kSignedCodes && kSpec.top > 127;
  static_assert(!kShifted || kSpec.zero == 128);

  static int64_t strip_bytes(int64_t k) { return k / kBlock * kRecord; }
  static void pack(const Activations& x, const StripPart& part, uint8_t* out) {
    pack_strip<kId>(x, part, out);
  }

  static INGLE_INLINE void unpack(const uint8_t* codes, uint8x16_t (&w)[8]) {
    unpack_bits<kSpec.bits>(codes, w);
    if constexpr (kSpec.table != kTableNone) {
      const uint8x16_t steps = vld1q_u8(kStepTable<kSpec.table>.codes);
      INGLE_UNROLL for (int j = 0; j < 8; ++j) w[j] = vqtbl1q_u8(steps, w[j]);
    }
    if constexpr (kShifted) {
      INGLE_UNROLL for (int j = 0; j < 8; ++j) w[j] = veorq_u8(w[j], vdupq_n_u8(128));
    }
  }

  // Half h of a block: four k-groups against that half's activations.
  template <int h>
  static INGLE_INLINE int32x4_t half(int32x4_t sum, const uint8x16_t (&w)[8], const uint8_t* a) {
    const int8x16_t q = vreinterpretq_s8_u8(vld1q_u8(a + 16 * h));
    sum = Dots::template dot<0>(sum, w[4 * h], q);
    sum = Dots::template dot<1>(sum, w[4 * h + 1], q);
    sum = Dots::template dot<2>(sum, w[4 * h + 2], q);
    return Dots::template dot<3>(sum, w[4 * h + 3], q);
  }
  static INGLE_INLINE int32x4_t begin(const uint8_t* a, int h) {
    return vdupq_n_s32(kHasMin || kShifted ? 0 : read_i32(a + 36 + 4 * h));
  }
  static INGLE_INLINE float32x4_t end(float32x4_t acc, int32x4_t dot, const Scales& s, const uint8_t* a,
                                      int h) {
    const float32x4_t product = vmulq_n_f32(s.scale[h], read_f32(a + 32));
    acc = vfmaq_f32(acc, vcvtq_f32_s32(dot), product);
    if constexpr (kHasMin) acc = vfmaq_f32(acc, s.min[h], vdupq_n_f32(read_f32(a + 36 + 4 * h)));
    return acc;
  }

  template <int kTokens>
  __attribute__((noinline)) static void tile(const uint8_t* w, const uint8_t* strip, int64_t k,
                                             const TileOut& out) {
    const int quarters = (out.last ? out.rows + 3 : 16) / 4;
    for (int quarter = 0; quarter < quarters; ++quarter) {
      float32x4_t acc[kTokens];
      INGLE_UNROLL for (int t = 0; t < kTokens; ++t) acc[t] = start_quarter(out, t, quarter);
      const uint8_t* a = strip;
      for (int64_t b = 0; b < k / kBlock; ++b, a += kTokens * kRecord) {
        const BlockPlace place = block_place(kSpec, b);
        uint8x16_t u[8];
        unpack(w + place.codes + 16 * quarter, u);
        Scales s = {};
        read_scales<kId>(w + place.scales, w + place.super, quarter, s);
        INGLE_UNROLL for (int t = 0; t < kTokens; ++t) {
          const uint8_t* at = a + t * kRecord;
          if constexpr (kSpec.sub == 32) {
            acc[t] = end(acc[t], half<1>(half<0>(begin(at, 0), u, at), u, at), s, at, 0);
          } else {
            acc[t] = end(acc[t], half<0>(begin(at, 0), u, at), s, at, 0);
            acc[t] = end(acc[t], half<1>(begin(at, 1), u, at), s, at, 1);
          }
        }
      }
      finish_quarter<kTokens>(out, quarter, acc);
    }
  }
};

}  // namespace
}  // namespace ingle::kernels
