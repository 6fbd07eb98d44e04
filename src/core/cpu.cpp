#include "core/cpu.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <thread>

#include "core/file.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstring>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace ingle {
namespace {

#if defined(__x86_64__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);  // leaves zeros for an unknown leaf
  return r;
}
constexpr bool bit(unsigned word, int n) { return (word >> n & 1U) != 0; }

// Which register states the operating system saves. The intrinsic would need -mxsave on this file.
uint64_t saved_states() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// Bit numbers: Intel SDM volume 2A, CPUID, leaves 1 and 7; XCR0: volume 1, 13.3.
void detect_instructions(CpuFeatures& f) {
  const Registers leaf1 = cpuid(1), leaf7 = cpuid(7), leaf7_1 = cpuid(7, 1);
  const bool fma = bit(leaf1.ecx, 12), osxsave = bit(leaf1.ecx, 27), avx = bit(leaf1.ecx, 28);
  const bool f16c = bit(leaf1.ecx, 29);
  if (!osxsave) return;
  constexpr uint64_t kYmm = 0x06, kZmm = 0xE6;
  const uint64_t states = saved_states();
  if ((states & kYmm) != kYmm) return;
  f.avx2 = avx && fma && f16c && bit(leaf7.ebx, 5);
  f.avx_vnni = f.avx2 && bit(leaf7_1.eax, 4);
  if ((states & kZmm) != kZmm) return;
  f.avx512 = f.avx2 && bit(leaf7.ebx, 16) && bit(leaf7.ebx, 17) && bit(leaf7.ebx, 28) && bit(leaf7.ebx, 30) &&
             bit(leaf7.ebx, 31);
  f.avx512_vnni = f.avx512 && bit(leaf7.ecx, 11);
  f.avx512_bf16 = f.avx512 && bit(leaf7_1.eax, 5);
}

std::string brand() {
  if (cpuid(0x80000000).eax < 0x80000004) return "x86-64";
  char text[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002 + i);
    std::memcpy(text + 16 * i, &r, 16);
  }
  const std::string_view all(text);
  const size_t first = all.find_first_not_of(' '), last = all.find_last_not_of(' ');
  return first == std::string_view::npos ? "x86-64" : std::string(all.substr(first, last - first + 1));
}

#elif defined(__aarch64__)

// Bits of the kernel's hardware capabilities: arch/arm64/include/uapi/asm/hwcap.h.
void detect_instructions(CpuFeatures& f) {
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  f.neon = (first >> 1 & 1) != 0;
  f.dotprod = f.neon && (first >> 20 & 1) != 0;
  f.i8mm = f.dotprod && (second >> 13 & 1) != 0;
}
std::string brand() { return "aarch64"; }

#else

void detect_instructions(CpuFeatures&) {}
std::string brand() { return "unknown"; }

#endif

// The affinity mask; it grows with the machine, so larger sets are tried until the kernel is content.
int allowed_cores() {
  for (int cpus = 1024; cpus <= 1 << 16; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(static_cast<size_t>(cpus)),
                                                               [](cpu_set_t* p) { CPU_FREE(p); });
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    if (set && sched_getaffinity(0, bytes, set.get()) == 0) return std::max(CPU_COUNT_S(bytes, set.get()), 1);
  }
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

std::string first_line(const std::string& path) {
  const std::string text = read_system_text(path);
  return text.substr(0, text.find('\n'));
}

// The path of this process in the unified hierarchy: the line "0::/path".
std::string own_cgroup() {
  const std::string text = "\n" + read_system_text("/proc/self/cgroup");
  const size_t at = text.find("\n0::/");
  if (at == std::string::npos) return "/";
  const size_t from = at + 4;
  return text.substr(from, text.find('\n', from) - from);
}

// The tightest CPU quota of this control group and its parents, in cores; 0 when there is none.
int quota_cores() {
  const std::string root = "/sys/fs/cgroup";
  int tightest = parse_cpu_quota(first_line(root + "/cpu/cpu.cfs_quota_us") + " " +
                                 first_line(root + "/cpu/cpu.cfs_period_us"));  // version 1
  for (std::string path = own_cgroup();; path.resize(path.rfind('/'))) {
    const int cores = parse_cpu_quota(first_line(root + path + "/cpu.max"));
    if (cores > 0) tightest = tightest > 0 ? std::min(tightest, cores) : cores;
    if (path.empty()) return tightest;
  }
}

}  // namespace

int parse_cpu_quota(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return 0;
  const std::string_view first = text.substr(0, space), second = text.substr(space + 1);
  int64_t quota = 0, period = 0;
  const auto a = std::from_chars(first.data(), first.data() + first.size(), quota);
  const auto b = std::from_chars(second.data(), second.data() + second.size(), period);
  if (a.ec != std::errc() || b.ec != std::errc() || quota <= 0 || period <= 0)
    return 0;  // "max" or -1: no limit
  const int64_t cores = quota / period + (quota % period != 0);
  return static_cast<int>(std::min<int64_t>(cores, 1 << 16));
}

CpuFeatures detect_cpu() {
  CpuFeatures f;
  detect_instructions(f);
  f.name = brand();
  f.logical_cores = allowed_cores();
  const int quota = quota_cores();
  if (quota > 0) f.logical_cores = std::min(f.logical_cores, quota);
  return f;
}

}  // namespace ingle
