// What the processor can do, found once per runtime by cpuid (and the operating system's xgetbv state).
#pragma once
#include <string>

namespace ingle {

struct CpuFeatures {
  bool avx2 = false;         // with FMA and F16C
  bool avx512 = false;       // F, BW, VL, DQ, CD
  bool avx512_vnni = false;  // and avx512
  bool avx512_bf16 = false;  // and avx512
  bool avx_vnni = false;     // 256-bit VNNI without AVX-512
  std::string name;          // the brand string
  int logical_cores = 1;     // that this process may use
};
CpuFeatures detect_cpu();

}  // namespace ingle
