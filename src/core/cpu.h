// What the processor can do, found once per runtime by cpuid (and the operating system's xgetbv state).
#pragma once
#include <string>
#include <string_view>

namespace ingle {

struct CpuFeatures {
  bool avx2 = false;         // with FMA and F16C
  bool avx512 = false;       // F, BW, VL, DQ, CD
  bool avx512_vnni = false;  // and avx512
  bool avx512_bf16 = false;  // and avx512
  bool avx_vnni = false;     // 256-bit VNNI without AVX-512
  bool neon = false;         // armv8-a has it
  bool dotprod = false;      // and neon: products of bytes
  bool i8mm = false;         // and dotprod: of unsigned with signed bytes
  std::string name;          // the brand string
  int logical_cores =
      1;  // that this process may use: its affinity mask, or the CPU quota of its control group
};
CpuFeatures detect_cpu();

// "quota period" in microseconds as in a control group's cpu.max ("150000 100000"): cores, rounded up; 0 for
// no limit
// ("max 100000", a quota of -1) and for a text that is not of this kind.
int parse_cpu_quota(std::string_view text);

}  // namespace ingle
