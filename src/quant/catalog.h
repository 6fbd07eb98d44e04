// The lists behind catalog.cpp. A new weight format is one file, and one line here.
#pragma once
#include "quant/codes.h"
#include "quant/weight.h"

// In the order of the docs.
// clang-format off
#define INGLE_QUANT_FORMATS(X) \
  X(kF32) X(kF16) X(kBf16) X(kF64) X(kF8E4M3) X(kF8E5M2) X(kF8E8M0) \
  X(kI8) X(kI16) X(kI32) X(kI64) X(kU8) X(kU16) X(kU32) X(kU64) X(kBool) \
  X(kQ4_0) \
  X(kQ4_1) \
  X(kQ5_0) \
  X(kQ5_1) \
  X(kQ8_0) \
  X(kQ2_K) \
  X(kQ3_K) \
  X(kQ4_K) \
  X(kQ5_K) \
  X(kQ6_K) \
  X(kIQ2_XXS) \
  X(kIQ2_XS) \
  X(kIQ3_XXS) \
  X(kIQ1_S) \
  X(kIQ4_NL) \
  X(kIQ3_S) \
  X(kIQ2_S) \
  X(kIQ4_XS) \
  X(kIQ1_M) \
  X(kTQ1_0) \
  X(kTQ2_0) \
  X(kMXFP4) \
  X(kNVFP4) \
  X(kQ1_0) \
  X(kQ2_0)

// The formats that show integer codes (codes.h).
#define INGLE_CODE_FORMATS(X) \
  X(kQ4_0Codes) \
  X(kQ4_1Codes) \
  X(kQ5_0Codes) \
  X(kQ5_1Codes) \
  X(kQ8_0Codes) \
  X(kQ4_KCodes) \
  X(kQ5_KCodes) \
  X(kQ6_KCodes) \
  X(kQ2_KCodes) \
  X(kQ3_KCodes) \
  X(kIQ4_NLCodes) \
  X(kIQ4_XSCodes) \
  X(kMXFP4Codes) \
  X(kNVFP4Codes) \
  X(kIQ3_SCodes) \
  X(kIQ3_XXSCodes) \
  X(kIQ2_XXSCodes) \
  X(kIQ2_XSCodes) \
  X(kIQ2_SCodes) \
  X(kIQ1_SCodes) \
  X(kIQ1_MCodes) \
  X(kTQ1_0Codes) \
  X(kTQ2_0Codes) \
  X(kQ1_0Codes) \
  X(kQ2_0Codes)
// clang-format on

namespace ingle::quant {

#define INGLE_DECLARE(name) extern const QuantFormat name;
INGLE_QUANT_FORMATS(INGLE_DECLARE)
#undef INGLE_DECLARE
#define INGLE_DECLARE(name) extern const CodeFormat name;
INGLE_CODE_FORMATS(INGLE_DECLARE)
#undef INGLE_DECLARE

}  // namespace ingle::quant
