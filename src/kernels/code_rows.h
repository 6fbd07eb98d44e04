// The formats that have a packed layout of codes, for the units that make a row of each: X(name, layout).
#pragma once

// clang-format off
#define INGLE_CODE_ROWS(X) \
  X("q4_0", kLayoutQ4_0) \
  X("q4_1", kLayoutQ4_1) \
  X("q5_0", kLayoutQ5_0) \
  X("q5_1", kLayoutQ5_1) \
  X("q8_0", kLayoutQ8_0) \
  X("q4_k", kLayoutQ4_K) \
  X("q5_k", kLayoutQ5_K) \
  X("q6_k", kLayoutQ6_K) \
  X("q2_k", kLayoutQ2_K) \
  X("q3_k", kLayoutQ3_K) \
  X("iq4_nl", kLayoutIQ4_NL) \
  X("iq4_xs", kLayoutIQ4_XS) \
  X("mxfp4", kLayoutMXFP4) \
  X("nvfp4", kLayoutNVFP4) \
  X("iq3_s", kLayoutIQ3_S) \
  X("iq3_xxs", kLayoutIQ3_XXS) \
  X("iq2_xxs", kLayoutIQ2_32) \
  X("iq2_xs", kLayoutIQ2_16) \
  X("iq2_s", kLayoutIQ2_16) \
  X("iq1_s", kLayoutIQ1_32) \
  X("iq1_m", kLayoutIQ1_16) \
  X("tq1_0", kLayoutTernary) \
  X("tq2_0", kLayoutTernary) \
  X("q1_0", kLayoutTernary) \
  X("q2_0", kLayoutTernary)

// One of each kind, for tests of units that are slow to compile.
#define INGLE_SOME_CODE_ROWS(X) \
  X("q4_1", kLayoutQ4_1) \
  X("q5_0", kLayoutQ5_0) \
  X("q8_0", kLayoutQ8_0) \
  X("q2_k", kLayoutQ2_K) \
  X("q3_k", kLayoutQ3_K) \
  X("q6_k", kLayoutQ6_K) \
  X("iq4_xs", kLayoutIQ4_XS) \
  X("mxfp4", kLayoutMXFP4)
// clang-format on
