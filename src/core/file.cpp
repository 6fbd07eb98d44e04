#include "core/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "core/checked_math.h"
#include "core/error.h"

namespace ingle {
namespace {

// strerror() is not thread-safe.
std::string system_text(int number) { return std::generic_category().message(number); }

// The range check that every source makes before it touches a byte.
void check_range(const ByteSource& source, uint64_t offset, uint64_t bytes) {
  const auto end = checked_add(offset, bytes);
  if (end && *end <= source.size()) return;
  fail(Code::io, source.name(),
       format("cannot read {} bytes at offset {}: the source has {} bytes", bytes, offset, source.size()));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

struct OpenFile {
  Descriptor descriptor;
  uint64_t size;
  int64_t changed_ns;
};

OpenFile open_regular(const std::string& path) {
  if (path.empty()) fail(Code::not_found, "path", "is empty, expected the name of a file");
  if (path.find('\0') != std::string::npos)
    fail(Code::invalid_argument, path, "the path contains a zero byte");
  int fd = -1;
  do {
    // Without O_NONBLOCK, opening a FIFO would wait for its writer; regular files ignore the flag.
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) {
    const int number = errno;
    fail(number == ENOENT || number == ENOTDIR ? Code::not_found : Code::io, path,
         format("cannot open the file: {}", system_text(number)));
  }
  Descriptor descriptor(fd);
  struct stat status = {};
  if (fstat(fd, &status) != 0)
    fail(Code::io, path, format("cannot read the file's size: {}", system_text(errno)));
  if (S_ISDIR(status.st_mode)) fail(Code::io, path, "this is a directory, expected a regular file");
  if (!S_ISREG(status.st_mode)) fail(Code::io, path, "not a regular file");
  constexpr uint64_t kSecond = 1'000'000'000;  // in a product that wraps: the time is anybody's to set
  return {std::move(descriptor), static_cast<uint64_t>(status.st_size),
          static_cast<int64_t>(static_cast<uint64_t>(status.st_mtim.tv_sec) * kSecond +
                               static_cast<uint64_t>(status.st_mtim.tv_nsec))};
}

// Reads with pread, so that any number of threads may share the descriptor.
class PlainFile : public ByteSource {
 public:
  PlainFile(std::string path, OpenFile file)
      : name_(std::move(path)),
        descriptor_(std::move(file.descriptor)),
        size_(file.size),
        changed_ns_(file.changed_ns) {}
  const std::string& name() const override { return name_; }
  uint64_t size() const override { return size_; }

  void read(uint64_t offset, std::span<std::byte> out) const override {
    check_range(*this, offset, out.size());
    // Linux moves at most about 2 GiB per call.
    constexpr size_t kMostPerCall = size_t{1} << 30;
    while (!out.empty()) {
      const ssize_t got = pread(descriptor_.get(), out.data(), std::min(out.size(), kMostPerCall),
                                static_cast<off_t>(offset));
      if (got < 0) {
        if (errno == EINTR) continue;
        fail(Code::io, name_, format("reading at offset {}: {}", offset, system_text(errno)));
      }
      if (got == 0) {
        fail(Code::io, name_,
             format("the file ends at offset {}, but had {} bytes when it was opened", offset, size_));
      }
      out = out.subspan(static_cast<size_t>(got));
      offset += static_cast<uint64_t>(got);
    }
  }

 protected:
  int descriptor() const { return descriptor_.get(); }
  int64_t changed_ns() const { return changed_ns_; }

 private:
  std::string name_;
  Descriptor descriptor_;
  uint64_t size_;
  int64_t changed_ns_;
};

// read() still goes by pread: a header read from a file that somebody cuts short is an error there, not a
// SIGBUS.
class MappedFile final : public PlainFile {
 public:
  MappedFile(const std::string& path, OpenFile file) : PlainFile(path, std::move(file)) {
    if (size() == 0) return;  // an empty mapping does not exist
    if (size() > std::numeric_limits<size_t>::max()) fail(Code::unsupported, path, "too large to map");
    void* const start = mmap(nullptr, static_cast<size_t>(size()), PROT_READ, MAP_SHARED, descriptor(), 0);
    if (start == MAP_FAILED) {
      fail(errno == ENOMEM ? Code::out_of_memory : Code::io, path,
           format("cannot map {} bytes: {}", size(), system_text(errno)));
    }
    start_ = static_cast<std::byte*>(start);
  }
  ~MappedFile() override {
    if (start_) munmap(start_, static_cast<size_t>(size()));
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* mapped() const override { return start_; }
  std::optional<FileStamp> stamp() const override { return FileStamp{size(), changed_ns()}; }

  void forget(uint64_t offset, uint64_t bytes) const override {
    if (!start_ || offset >= size()) return;
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t end = (offset + std::min(bytes, size() - offset)) & ~(page - 1);
    const auto first = checked_round_up(offset, page);
    // Only whole pages: a neighbour's bytes may share the first and the last one. A failed hint costs
    // nothing.
    if (first && *first < end) madvise(start_ + *first, static_cast<size_t>(end - *first), MADV_DONTNEED);
  }

 private:
  std::byte* start_ = nullptr;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes) : name_(std::move(name)), bytes_(bytes) {}
  const std::string& name() const override { return name_; }
  uint64_t size() const override { return bytes_.size(); }
  const std::byte* mapped() const override { return bytes_.data(); }
  void read(uint64_t offset, std::span<std::byte> out) const override {
    check_range(*this, offset, out.size());
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
};

class ReaderSource final : public ByteSource {
 public:
  using ReadAt = std::function<bool(uint64_t offset, std::span<std::byte> out)>;
  ReaderSource(std::string name, uint64_t size, ReadAt read_at)
      : name_(std::move(name)), size_(size), read_at_(std::move(read_at)) {}
  const std::string& name() const override { return name_; }
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, std::span<std::byte> out) const override {
    check_range(*this, offset, out.size());
    if (!out.empty() && !call(offset, out)) {
      fail(Code::io, name_, format("the host's reader failed on {} bytes at offset {}", out.size(), offset));
    }
  }

 private:
  // The callback is a stranger's code: what it throws is one more way to fail.
  bool call(uint64_t offset, std::span<std::byte> out) const {
    try {
      return read_at_(offset, out);
    } catch (...) {
      return false;
    }
  }
  std::string name_;
  uint64_t size_;
  ReadAt read_at_;
};

}  // namespace

ByteSourcePtr open_mapped(const std::string& path) {
  return std::make_shared<MappedFile>(path, open_regular(path));
}

ByteSourcePtr open_plain(const std::string& path) {
  return std::make_shared<PlainFile>(path, open_regular(path));
}

ByteSourcePtr from_memory(std::string name, std::span<const std::byte> bytes) {
  return std::make_shared<MemorySource>(std::move(name), bytes);
}

ByteSourcePtr from_reader(std::string name, uint64_t size,
                          std::function<bool(uint64_t offset, std::span<std::byte> out)> read_at) {
  if (!read_at) fail(Code::invalid_argument, name, "the reader is empty");
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();  // what an offset into a file can be
  if (size > kMost)
    fail(Code::invalid_argument, name, format("the reader's size is {}, expected at most {}", size, kMost));
  return std::make_shared<ReaderSource>(std::move(name), size, std::move(read_at));
}

// Not by a stream: those bring all locales of the C++ library along.
std::string read_system_text(const std::string& path) {
  constexpr size_t kMost = size_t{64} << 10;
  const Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string out;
  char block[4096];
  while (descriptor.get() >= 0 && out.size() < kMost) {
    const ssize_t n = ::read(descriptor.get(), block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    out.append(block, static_cast<size_t>(n));
  }
  return out;
}

}  // namespace ingle
