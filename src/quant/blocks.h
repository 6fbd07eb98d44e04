// The block layouts of GGUF files and the bit helpers to read them (sources of the layouts:
// ggml-org/llama.cpp, ggml-common.h). ISA units include this file, so it holds plain data and static inline
// functions over <stdint.h>. Every member is bytes: blocks sit at any address in a file, and a byte needs no
// alignment.
#pragma once
#include <stdint.h>

namespace ingle::quant {

static inline uint16_t load_u16(const uint8_t* p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t load_u32(const uint8_t* p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline void store_u16(uint8_t* p, uint32_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}
static inline void store_u32(uint8_t* p, uint32_t v) {
  store_u16(p, v & 0xffff);
  store_u16(p + 2, v >> 16);
}

static inline float bits_to_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
static inline uint32_t float_to_bits(float v) { return __builtin_bit_cast(uint32_t, v); }

// IEEE half to float, exact; infinities and NaN payloads keep their bits.
static inline float half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
  const uint32_t magnitude = h & 0x7fff;
  if (magnitude >= 0x7c00) return bits_to_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x0400) return bits_to_float(sign | ((magnitude << 13) + 0x38000000));
  const float subnormal = (float)magnitude * 0x1p-24f;
  return bits_to_float(sign | float_to_bits(subnormal));
}

// Float to half, to nearest, ties to even. NaN stays NaN (quiet, top payload bits kept).
static inline uint16_t float_to_half(float v) {
  const uint32_t bits = float_to_bits(v);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);  // 65520 and up round to infinity
  if (magnitude < 0x38800000) {  // below 2^-14: adding 0.5 leaves the half's last bit as the float's last bit
    const float shifted = bits_to_float(magnitude) + 0.5f;
    return (uint16_t)(sign | (float_to_bits(shifted) - 0x3f000000));
  }
  const uint32_t even = magnitude >> 13 & 1;
  return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + even) >> 13));
}

static inline float bf16_to_float(uint16_t b) { return bits_to_float((uint32_t)b << 16); }

static inline uint16_t float_to_bf16(float v) {
  const uint32_t bits = float_to_bits(v);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float load_half(const uint8_t* p) { return half_to_float(load_u16(p)); }

// FP8 of the OCP specification: S EEEE MMM, bias 7, no infinity, 0x7f and 0xff are NaN.
static inline float e4m3_to_float(uint8_t v) {
  const uint32_t sign = (uint32_t)(v & 0x80) << 24;
  const uint32_t magnitude = v & 0x7f;
  if (magnitude == 0x7f) return bits_to_float(sign | 0x7fc00000);
  if (magnitude >= 8) return bits_to_float(sign | ((magnitude << 20) + (120u << 23)));
  return bits_to_float(sign | float_to_bits((float)magnitude * 0x1p-9f));
}
static inline float e5m2_to_float(uint8_t v) { return half_to_float((uint16_t)(v << 8)); }
// 2^(v - 127); 255 is NaN, 0 is a subnormal float.
static inline float e8m0_to_float(uint8_t v) {
  if (v == 255) return bits_to_float(0x7fc00000);
  return bits_to_float(v == 0 ? 0x00400000u : (uint32_t)v << 23);
}
// FP4 (e2m1) doubled, so that it is an integer.
static constexpr int8_t kFp4Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
// The uneven steps of IQ4_NL and IQ4_XS.
static constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

// The same, and the steps of IQ3, IQ2 and IQ1, as unsigned codes: the value plus a zero point.
static constexpr uint8_t kFp4Codes[16] = {12, 13, 14, 15, 16, 18, 20, 24, 11, 10, 9, 8, 6, 4, 0};  // 12
static constexpr uint8_t kIq4Codes[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                          129, 141, 153, 166, 181, 197, 217, 241};                      // 128
static constexpr uint8_t kIq3SCodes[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};  // 15
static constexpr uint8_t kIq3XxsCodes[16] = {0,  10, 18, 26, 34, 42,  50,  58,
                                             66, 74, 82, 90, 98, 106, 114, 124};  // 62
static constexpr uint8_t kIq2Codes[8] = {0, 18, 35, 51, 68, 86};                  // 43
static constexpr uint8_t kIq1Codes[8] = {0, 2, 8, 10, 16, 18};  // 9: eight times -1, 0, 1, plus or minus 1

struct BlockQ4_0 {  // 32: d * (nibble - 8)
  uint8_t d[2], q[16];
};
struct BlockQ4_1 {  // 32: d * nibble + m
  uint8_t d[2], m[2], q[16];
};
struct BlockQ5_0 {  // 32: d * (code - 16)
  uint8_t d[2], h[4], q[16];
};
struct BlockQ5_1 {  // 32: d * code + m
  uint8_t d[2], m[2], h[4], q[16];
};
struct BlockQ8_0 {  // 32: d * (int8)q
  uint8_t d[2], q[32];
};
struct BlockQ2_K {  // 256
  uint8_t s[16], q[64], d[2], m[2];
};
struct BlockQ3_K {  // 256
  uint8_t hm[32], q[64], s[12], d[2];
};
struct BlockQ4_K {  // 256
  uint8_t d[2], m[2], s[12], q[128];
};
struct BlockQ5_K {  // 256
  uint8_t d[2], m[2], s[12], h[32], q[128];
};
struct BlockQ6_K {  // 256
  uint8_t ql[128], qh[64], s[16], d[2];
};
struct BlockIQ4_NL {  // 32
  uint8_t d[2], q[16];
};
struct BlockIQ4_XS {  // 256
  uint8_t d[2], sh[2], sl[4], q[128];
};
struct BlockIQ2_XXS {  // 256: 8 x {g[4], u32}
  uint8_t d[2], q[64];
};
struct BlockIQ2_XS {  // 256
  uint8_t d[2], q[64], s[8];
};
struct BlockIQ2_S {  // 256
  uint8_t d[2], q[32], sign[32], qh[8], s[8];
};
struct BlockIQ3_XXS {  // 256
  uint8_t d[2], q[64], a[32];
};
struct BlockIQ3_S {  // 256
  uint8_t d[2], q[64], qh[8], sign[32], s[4];
};
struct BlockIQ1_S {  // 256
  uint8_t d[2], q[32], h[16];
};
struct BlockIQ1_M {  // 256
  uint8_t q[32], qh[16], s[8];
};
struct BlockTQ1_0 {  // 256
  uint8_t q[48], qh[4], d[2];
};
struct BlockTQ2_0 {  // 256
  uint8_t q[64], d[2];
};
struct BlockMXFP4 {  // 32
  uint8_t e, q[16];
};
struct BlockNVFP4 {  // 64
  uint8_t s[4], q[32];
};
struct BlockQ1_0 {  // 128
  uint8_t d[2], q[16];
};
struct BlockQ2_0 {  // 64
  uint8_t d[2], q[16];
};

// n bytes to 2 n codes: low nibbles first, then high nibbles.
static inline void unpack_nibbles(const uint8_t* q, int n, uint8_t* codes) {
  for (int i = 0; i < n; ++i) {
    codes[i] = q[i] & 15;
    codes[n + i] = q[i] >> 4;
  }
}
static inline void pack_nibbles(const uint8_t* codes, int n, uint8_t* q) {
  for (int i = 0; i < n; ++i) q[i] = (uint8_t)((codes[i] & 15) | codes[n + i] << 4);
}
// A fifth bit for each of 32 codes.
static inline void add_fifth_bits(uint32_t h, uint8_t* codes) {
  for (int i = 0; i < 32; ++i) codes[i] = (uint8_t)(codes[i] | (h >> i & 1) << 4);
}
static inline uint32_t take_fifth_bits(const uint8_t* codes) {
  uint32_t h = 0;
  for (int i = 0; i < 32; ++i) h |= (uint32_t)(codes[i] >> 4 & 1) << i;
  return h;
}
// 64 bytes to 256 codes of 2 bits: per half of 32 bytes, the shifts 0, 2, 4, 6 give 32 codes each.
static inline void unpack_crumbs(const uint8_t* q, uint8_t* codes) {
  for (int e = 0; e < 256; ++e) codes[e] = q[e / 128 * 32 + e % 32] >> (e / 32 % 4 * 2) & 3;
}

// The 6-bit scales and mins of Q4_K and Q5_K: 8 of each in 12 bytes.
static inline void unpack_k4_scales(const uint8_t* s, uint8_t* sc, uint8_t* mn) {
  for (int j = 0; j < 4; ++j) {
    sc[j] = s[j] & 63;
    mn[j] = s[j + 4] & 63;
    sc[j + 4] = (uint8_t)((s[j + 8] & 15) | s[j] >> 6 << 4);
    mn[j + 4] = (uint8_t)(s[j + 8] >> 4 | s[j + 4] >> 6 << 4);
  }
}
static inline void pack_k4_scales(const uint8_t* sc, const uint8_t* mn, uint8_t* s) {
  for (int j = 0; j < 4; ++j) {
    s[j] = (uint8_t)(sc[j] | sc[j + 4] >> 4 << 6);
    s[j + 4] = (uint8_t)(mn[j] | mn[j + 4] >> 4 << 6);
    s[j + 8] = (uint8_t)((sc[j + 4] & 15) | (mn[j + 4] & 15) << 4);
  }
}

// 128 bytes of nibbles to the 256 codes of Q4_K (and the low bits of Q5_K).
static inline void unpack_k4_codes(const uint8_t* q, uint8_t* codes) {
  for (int j = 0; j < 4; ++j) unpack_nibbles(q + 32 * j, 32, codes + 64 * j);
}
static inline void unpack_codes(const BlockQ4_0* b, uint8_t* codes) { unpack_nibbles(b->q, 16, codes); }
static inline void unpack_codes(const BlockQ4_1* b, uint8_t* codes) { unpack_nibbles(b->q, 16, codes); }
static inline void unpack_codes(const BlockQ5_0* b, uint8_t* codes) {
  unpack_nibbles(b->q, 16, codes);
  add_fifth_bits(load_u32(b->h), codes);
}
static inline void unpack_codes(const BlockQ5_1* b, uint8_t* codes) {
  unpack_nibbles(b->q, 16, codes);
  add_fifth_bits(load_u32(b->h), codes);
}
static inline void unpack_codes(const BlockQ8_0* b, uint8_t* codes) {
  for (int i = 0; i < 32; ++i) codes[i] = b->q[i] ^ 0x80;  // the int8 plus 128
}
static inline void unpack_codes(const BlockQ4_K* b, uint8_t* codes) { unpack_k4_codes(b->q, codes); }
static inline void unpack_codes(const BlockQ5_K* b, uint8_t* codes) {
  unpack_k4_codes(b->q, codes);
  for (int e = 0; e < 256; ++e) codes[e] = (uint8_t)(codes[e] | (b->h[e % 32] >> (e / 32) & 1) << 4);
}
static inline void unpack_codes(const BlockQ6_K* b, uint8_t* codes) {
  for (int h = 0; h < 2; ++h) {
    const uint8_t* ql = b->ql + 64 * h;
    const uint8_t* qh = b->qh + 32 * h;
    for (int k = 0; k < 4; ++k) {
      for (int l = 0; l < 32; ++l) {
        const int low = ql[32 * (k & 1) + l] >> (4 * (k >> 1)) & 15;
        codes[128 * h + 32 * k + l] = (uint8_t)(low | (qh[l] >> (2 * k) & 3) << 4);
      }
    }
  }
}

}  // namespace ingle::quant
