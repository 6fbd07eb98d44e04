// Subnormals as zeros while bf16 chains run, as vpdpbf16ps has them: MXCSR with "denormals are zeros" and
// "flush to zero". For x86 units only.
#pragma once
#include <stdint.h>

namespace ingle::kernels {
namespace {

// The compiler may not move arithmetic on memory across the asm below; accumulators that live on have to be
// pinned (read and written by an asm) before the flags go back.
inline uint32_t flush_subnormals() {
  uint32_t before;
  asm volatile("stmxcsr %0" : "=m"(before)::"memory");
  const uint32_t flushing = before | 0x8040u;
  asm volatile("ldmxcsr %0" ::"m"(flushing) : "memory");
  return before;
}
inline void restore_subnormals(uint32_t before) { asm volatile("ldmxcsr %0" ::"m"(before) : "memory"); }

}  // namespace
}  // namespace ingle::kernels
