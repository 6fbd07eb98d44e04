#include "interpose.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

// The C library's own, under their other names.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t n, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);
}

namespace ingle::tests {
namespace {

std::atomic<bool> running{false}, onwards{false}, met{false};
std::atomic<Fault> planned{Fault::memory};
std::atomic<int64_t> n_before{0};  // operations that still succeed
std::atomic<int64_t> n_failed{0}, n_blocks{0};

bool fails(Fault fault) {
  if (!running || planned != fault || (met && !onwards)) return false;
  if (!met && n_before.fetch_sub(1) > 0) return false;
  met = true;
  ++n_failed;
  return true;
}

void* counted(void* memory) {
  if (memory) ++n_blocks;
  return memory;
}
void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace

void plan(Fault fault, int64_t k, bool and_later) {
  planned = fault;
  onwards = and_later;
  n_before = k;
  met = false;
}
void go() { running = true; }
bool hold() {
  running = false;
  return met;
}
int64_t faults_injected() { return n_failed; }
int64_t blocks_allocated() { return n_blocks; }

}  // namespace ingle::tests

using namespace ingle::tests;

// Seen by the shared library, though this program hides its symbols otherwise.
#pragma GCC visibility push(default)
extern "C" {

void* malloc(size_t bytes) { return fails(Fault::memory) ? no_memory() : counted(__libc_malloc(bytes)); }
void* calloc(size_t n, size_t bytes) {
  return fails(Fault::memory) ? no_memory() : counted(__libc_calloc(n, bytes));
}
void* realloc(void* memory, size_t bytes) {
  if (fails(Fault::memory)) return no_memory();
  void* const moved = __libc_realloc(memory, bytes);
  if (!memory) counted(moved);
  if (memory && !moved && bytes == 0) --n_blocks;
  return moved;
}
void* memalign(size_t alignment, size_t bytes) {
  return fails(Fault::memory) ? no_memory() : counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  void* const memory = memalign(alignment, bytes);
  if (memory) *out = memory;
  return memory ? 0 : ENOMEM;
}
void free(void* memory) {
  if (!memory) return;
  --n_blocks;
  __libc_free(memory);
}

ssize_t pread64(int fd, void* out, size_t bytes, off64_t offset) {
  if (fails(Fault::read_error)) return errno = EIO, -1;
  if (fails(Fault::read_again)) return errno = EINTR, -1;
  if (bytes > 1 && fails(Fault::read_short)) bytes = 1;
  return syscall(SYS_pread64, fd, out, bytes, offset);
}
ssize_t pread(int fd, void* out, size_t bytes, off_t offset) { return pread64(fd, out, bytes, offset); }
ssize_t write(int fd, const void* data, size_t bytes) {
  if (fails(Fault::write_full)) return errno = ENOSPC, -1;
  if (fails(Fault::write_again)) return errno = EINTR, -1;
  if (bytes > 1 && fails(Fault::write_short)) bytes = 1;
  return syscall(SYS_write, fd, data, bytes);
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int fd, off64_t offset) noexcept {
  if (fd >= 0 && fails(Fault::map_memory)) return errno = ENOMEM, MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}
void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  return mmap64(at, bytes, protection, flags, fd, offset);
}

}  // extern "C"
#pragma GCC visibility pop
