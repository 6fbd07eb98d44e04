#include "formats/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
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

// Renaming onto a device or a pipe would replace it, for everybody; onto a folder it fails, but only at the
// end.
std::optional<mode_t> permissions_of_target(const std::string& path) {
  if (path.empty()) fail(Code::invalid_argument, "path", "is empty, expected a file to write");
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (S_ISDIR(status.st_mode)) fail(Code::io, path, "this is a directory, expected a file to write");
  if (!S_ISREG(status.st_mode))
    fail(Code::io, path, "is no regular file, and only such a one can be replaced");
  return status.st_mode & 07777;
}

// Whether `path` still names the open file.
bool names(const std::string& path, int fd) {
  struct stat named = {}, open = {};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 && named.st_dev == open.st_dev &&
         named.st_ino == open.st_ino;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
  const std::optional<mode_t> permissions = permissions_of_target(path_);
  open_part();
  if (permissions) ::fchmod(fd_, *permissions);  // best effort: some file systems have none
}

// Two writers of one name would mix their bytes in one part, so the part is locked. What another run left
// behind is not, and is written over.
void AtomicFile::open_part() {
  for (;;) {
    // O_NOFOLLOW: a link planted under the temporary name must not redirect the write. O_NONBLOCK: a pipe
    // there must not be waited for.
    const int fd =
        ::open(part_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd < 0)
      fail(Code::io, path_, format("cannot create {}: {}", part_, std::generic_category().message(errno)));
    struct stat status = {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(fd);
      fail(Code::io, part_, "is no regular file, and the file is written under this name first");
    }
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd);
      fail(Code::io, part_, "is being written by someone else");
    }
    if (!names(part_, fd)) {  // its writer completed it between our open and our lock: it is no part any more
      ::close(fd);
      continue;
    }
    if (::ftruncate(fd, 0) != 0) {
      const int number = errno;
      ::close(fd);
      errno = number;
      fail_with_errno("cannot empty");
    }
    fd_ = fd;
    return;
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::unlink(part_.c_str());  // while it is locked: after that the name may be another writer's
  ::close(fd_);
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

void AtomicFile::rename_part() {
  const int fd = fd_;
  if (::rename(part_.c_str(), path_.c_str()) != 0) fail_with_errno("cannot rename");
  fd_ = -1;
  ::close(fd);
}

void AtomicFile::commit() {
  flush();
  if (::fsync(fd_) != 0) fail_with_errno("cannot sync");
  rename_part();
  sync_folder_of(path_);
}

void AtomicFile::publish() {
  flush();
  rename_part();
}

}  // namespace ingle::formats
