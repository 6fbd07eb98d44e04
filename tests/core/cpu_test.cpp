#include "core/cpu.h"

#include <sched.h>

#include "support/catch.h"

using namespace ingle;

TEST_CASE("the processor is described", "[core]") {
  const CpuFeatures f = detect_cpu();
  CHECK_FALSE(f.name.empty());
  CHECK(f.name.find('\0') == std::string::npos);
  CHECK(f.logical_cores >= 1);
  CHECK(f.logical_cores <= 1 << 16);
  // Each feature promises the ones it builds on.
  if (f.avx512) CHECK(f.avx2);
  if (f.avx512_vnni || f.avx512_bf16) CHECK(f.avx512);
  if (f.avx_vnni) CHECK(f.avx2);
}

#if defined(__x86_64__)
TEST_CASE("the features agree with the compiler's own detection", "[core]") {
  __builtin_cpu_init();
  const CpuFeatures f = detect_cpu();
  CHECK(f.avx2 == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  CHECK(f.avx512 == (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512cd")));
  CHECK(f.avx512_vnni == (f.avx512 && __builtin_cpu_supports("avx512vnni")));
}
#endif

TEST_CASE("the cores are those that this process may use", "[core]") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_SET(first, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(detect_cpu().logical_cores == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
  CHECK(detect_cpu().logical_cores <= CPU_COUNT(&before));
}

TEST_CASE("a CPU quota is rounded up to cores", "[core]") {
  CHECK(parse_cpu_quota("150000 100000") == 2);
  CHECK(parse_cpu_quota("200000 100000") == 2);
  CHECK(parse_cpu_quota("1000 100000") == 1);
  CHECK(parse_cpu_quota("max 100000") == 0);
  CHECK(parse_cpu_quota("-1 100000") == 0);
  CHECK(parse_cpu_quota("100000 0") == 0);
  CHECK(parse_cpu_quota("100000") == 0);
  CHECK(parse_cpu_quota("") == 0);
  CHECK(parse_cpu_quota(" ") == 0);
  CHECK(parse_cpu_quota("9223372036854775807 1") == 1 << 16);
  CHECK(parse_cpu_quota("99999999999999999999 1") == 0);
}
