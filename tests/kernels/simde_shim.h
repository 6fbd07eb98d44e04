// AVX-512 intrinsics for machines without them: SIMDe's, and in plain loops those that SIMDe 0.7.4-rc2 lacks
// (_mm512_cvtph_ps, _mm512_cvtepu16_epi32, _mm512_cvtepu8_epi32, _mm512_cvtepi8_epi32, _mm512_cvtepi32_ps,
// _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps, and the name __mmask16).
#pragma once
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>

#include "quant/blocks.h"

namespace {

#ifndef __AVX512F__
using __mmask16 = simde__mmask16;
#endif

template <class To, class From, class Element, class Map>
__attribute__((always_inline)) inline To map_lanes(From from, Map map) {
  Element in[sizeof(From) / sizeof(Element)];
  __builtin_memcpy(in, &from, sizeof from);
  decltype(map(in[0])) out[16];
  for (int i = 0; i < 16; ++i) out[i] = map(in[i]);
  To to;
  __builtin_memcpy(&to, out, sizeof to);
  return to;
}
__attribute__((always_inline)) inline simde__m512 shim_cvtph_ps(simde__m256i v) {
  return map_lanes<simde__m512, simde__m256i, uint16_t>(v, ingle::quant::half_to_float);
}
__attribute__((always_inline)) inline simde__m512i shim_cvtepu16_epi32(simde__m256i v) {
  return map_lanes<simde__m512i, simde__m256i, uint16_t>(v, [](uint16_t x) { return int32_t{x}; });
}
__attribute__((always_inline)) inline simde__m512i shim_cvtepu8_epi32(simde__m128i v) {
  return map_lanes<simde__m512i, simde__m128i, uint8_t>(v, [](uint8_t x) { return int32_t{x}; });
}
__attribute__((always_inline)) inline simde__m512i shim_cvtepi8_epi32(simde__m128i v) {
  return map_lanes<simde__m512i, simde__m128i, int8_t>(v, [](int8_t x) { return int32_t{x}; });
}
__attribute__((always_inline)) inline simde__m512 shim_cvtepi32_ps(simde__m512i v) {
  return map_lanes<simde__m512, simde__m512i, int32_t>(v, [](int32_t x) { return static_cast<float>(x); });
}
__attribute__((always_inline)) inline simde__m512 shim_maskz_loadu_ps(__mmask16 mask, const float* p) {
  float lanes[16] = {};
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1) lanes[i] = p[i];
  return simde_mm512_loadu_ps(lanes);
}
__attribute__((always_inline)) inline void shim_mask_storeu_ps(float* p, __mmask16 mask, simde__m512 v) {
  float lanes[16];
  simde_mm512_storeu_ps(lanes, v);
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1) p[i] = lanes[i];
}

// SIMDe's rounds twice where the machine has no FMA.
__attribute__((always_inline)) inline simde__m512 shim_fmadd_ps(simde__m512 a, simde__m512 b, simde__m512 c) {
  float x[16], y[16], z[16];
  simde_mm512_storeu_ps(x, a);
  simde_mm512_storeu_ps(y, b);
  simde_mm512_storeu_ps(z, c);
  for (int i = 0; i < 16; ++i) z[i] = __builtin_fmaf(x[i], y[i], z[i]);
  return simde_mm512_loadu_ps(z);
}

}  // namespace

#undef _mm512_fmadd_ps
#define _mm512_fmadd_ps shim_fmadd_ps
#define _mm512_cvtph_ps shim_cvtph_ps
#define _mm512_cvtepu16_epi32 shim_cvtepu16_epi32
#define _mm512_cvtepu8_epi32 shim_cvtepu8_epi32
#define _mm512_cvtepi8_epi32 shim_cvtepi8_epi32
#define _mm512_cvtepi32_ps shim_cvtepi32_ps
#define _mm512_maskz_loadu_ps shim_maskz_loadu_ps
#define _mm512_mask_storeu_ps shim_mask_storeu_ps
