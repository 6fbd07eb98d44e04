// Lets calls of the C library fail in this program: memory and file operations, the k-th or all from it on.
// What the shared library calls comes by here too, since a program's own definitions go first.
#pragma once
#include <cstdint>

namespace ingle::tests {

enum class Fault : uint8_t {
  memory,       // malloc and its kin give null
  read_error,   // pread: EIO
  read_short,   // pread gives one byte
  read_again,   // pread: EINTR
  write_full,   // write: ENOSPC
  write_short,  // write takes one byte
  write_again,  // write: EINTR
  map_memory,   // mmap of a file: ENOMEM
};

// Of the operations that the fault concerns, made between a go() and its hold(), the k-th (from 0) fails, and
// with `onwards` each later one. hold() says whether one has failed by now.
void plan(Fault fault, int64_t k, bool onwards);
void go();
bool hold();
int64_t faults_injected();   // so far, in all
int64_t blocks_allocated();  // now

}  // namespace ingle::tests
