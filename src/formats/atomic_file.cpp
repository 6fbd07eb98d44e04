#include "formats/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"

namespace ingle::formats {
namespace {

constexpr size_t kPendingBytes = 256 * 1024;

// The rename is on disk only once the folder is. Best effort: some file systems cannot sync a folder.
void sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
  // O_NOFOLLOW: a link planted under the temporary name must not redirect the write.
  fd_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0) fail_with_errno("cannot create");
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(part_.c_str());
}

void AtomicFile::fail_with_errno(const char* doing) const {
  fail(Code::io, part_, format("{} the file: {}", doing, std::generic_category().message(errno)));
}

void AtomicFile::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_with_errno("cannot write");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void AtomicFile::flush() {
  write_all(pending_);
  pending_.clear();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  offset_ += bytes.size();
  if (pending_.size() + bytes.size() > kPendingBytes) flush();
  if (bytes.size() > kPendingBytes) return write_all(bytes);
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::commit() {
  flush();
  if (::fsync(fd_) != 0) fail_with_errno("cannot sync");
  const int fd = fd_;
  if (::rename(part_.c_str(), path_.c_str()) != 0) fail_with_errno("cannot rename");
  fd_ = -1;
  ::close(fd);
  sync_folder_of(path_);
}

}  // namespace ingle::formats
