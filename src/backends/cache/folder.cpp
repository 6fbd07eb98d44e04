#include "backends/cache/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "formats/atomic_file.h"

namespace ingle::backends {
namespace {

constexpr std::string_view kSuffix = ".weights", kPart = ".weights.part", kDigits = "0123456789abcdef";
constexpr size_t kNameBytes = 16;  // of the key; the file holds all of it
constexpr int64_t kSecond = 1'000'000'000;

std::string file_name(const Digest& key) {
  std::string out;
  for (size_t i = 0; i < kNameBytes; ++i)
    for (const int digit : {std::to_integer<int>(key[i] >> 4), std::to_integer<int>(key[i] & std::byte{15})})
      out += kDigits[static_cast<size_t>(digit)];
  return out + std::string(kSuffix);
}

bool has_name(std::string_view file, std::string_view suffix) {
  return file.size() == 2 * kNameBytes + suffix.size() && file.ends_with(suffix) &&
         file.find_first_not_of(kDigits) == 2 * kNameBytes;
}

struct Descriptor {
  explicit Descriptor(int f) : fd(f) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd;
};

struct Entry {
  std::string path;
  uint64_t bytes;
  timespec used;
};

// Those of this cache, the least recently used first. Parts that nobody writes any more are removed.
std::vector<Entry> list(const std::string& folder) {
  std::vector<Entry> out;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string(), path = entry->path().string();
    if (has_name(name, kPart)) {
      const Descriptor part(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
      if (part.fd >= 0 && ::flock(part.fd, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    }
    struct stat status = {};
    if (!has_name(name, kSuffix) || ::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    out.push_back({path, static_cast<uint64_t>(status.st_size), status.st_atim});
  }
  std::sort(out.begin(), out.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  return out;
}

// Bytes that this user may still write there; nothing when the system does not say.
std::optional<uint64_t> free_bytes(const std::string& folder) {
  struct statvfs status = {};
  if (::statvfs(folder.c_str(), &status) != 0) return std::nullopt;
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(uint64_t{status.f_bavail}, uint64_t{status.f_frsize}, &bytes)) return UINT64_MAX;
  return bytes;
}

// Throws Code::io when the file cannot be kept within the bounds: the settings', and half of what the disk
// would have free without the cache.
void make_room(const CacheSettings& settings, uint64_t bytes) {
  std::vector<Entry> files = list(settings.folder);
  uint64_t held = 0;
  for (const Entry& e : files) held += e.bytes;
  uint64_t most = settings.max_bytes;
  if (const auto free = free_bytes(settings.folder)) most = std::min(most, *free / 2 + held / 2);
  if (bytes > most)
    fail(Code::io, settings.folder, format("{} bytes do not fit: the cache may hold {}", bytes, most));
  for (const Entry& e : files) {
    if (held <= most - bytes) return;
    if (::unlink(e.path.c_str()) == 0 || errno == ENOENT) held -= e.bytes;
  }
  if (held > most - bytes) fail(Code::io, settings.folder, "what was used last cannot be removed");
}

// Weights are taken from files of this user, or the system's, alone: whoever else may write there could
// plant others.
bool is_ours(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_uid == ::geteuid() || status.st_uid == 0) && (status.st_mode & S_IWOTH) == 0;
}

// The time of use is the file's time of access, which `list` sorts by. Both are hints: a folder that cannot
// be written keeps its files, and they are read in full each time where they have to.
void mark_used(const std::string& path) {
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}
void mark_written(const std::string& path, int64_t written_ns) {
  const timespec times[2] = {{0, UTIME_NOW}, {written_ns / kSecond, written_ns % kSecond}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

// Its bytes were compared with the checksums: what is in its page cache can be trusted until somebody writes
// to it, or the machine starts anew.
void seal_again(const std::string& path, std::span<const std::byte> head, int64_t written_ns) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.fd < 0 || ::pwrite(file.fd, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()))
    return;
  mark_written(path, written_ns);
}

std::vector<std::span<const std::byte>> weights_in(const ByteSource& file, const CacheLayout& layout) {
  std::vector<std::span<const std::byte>> out;
  for (size_t i = 0; i < layout.n_weights(); ++i)
    out.emplace_back(file.mapped() + layout.offset(i), static_cast<size_t>(layout.size(i)));
  return out;
}

// The time that a new file gets: a whole even second, which every file system can hold, and which no write by
// somebody else leaves behind.
int64_t time_for_file() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count() / 2 * 2 * kSecond;
}

}  // namespace

void CacheFolder::say(LogLevel level, const std::string& text) const {
  if (log_) log_(level, text);
}

ByteSourcePtr CacheFolder::open(const CacheLayout& layout) const {
  const std::string path = settings_.folder + "/" + file_name(layout.key());
  try {
    ByteSourcePtr file = open_mapped(path);
    if (!is_ours(path)) {
      say(LogLevel::warning, path + ": is not used: it belongs to another user, or anybody may write to it");
      return nullptr;
    }
    CacheHead head = read_cache_head(*file, layout);
    const std::string boot = boot_name();
    if (boot.empty() || head.seal.boot != boot || head.seal.written_ns != file->stamp()->changed_ns) {
      if (checks_of(weights_in(*file, layout), layout, pool_) != head.checks)
        fail(Code::corrupt, path, "has weights whose checksums differ");
      head.seal.boot = boot;
      seal_again(path, encode_cache_head(layout, head.checks, head.seal), head.seal.written_ns);
    } else {
      mark_used(path);
    }
    say(LogLevel::info, path + ": packed weights");
    return file;
  } catch (const Error& e) {
    if (e.code() == Code::out_of_memory) throw;
    const bool missing = e.code() == Code::not_found;
    say(missing ? LogLevel::debug : LogLevel::warning, e.where() + ": " + e.message());
    return nullptr;
  }
}

bool CacheFolder::write_file(const std::string& path, const CacheLayout& layout, CacheWeights weights,
                             const std::function<bool(uint64_t bytes)>& written) const {
  const CacheSeal seal{time_for_file(), boot_name()};
  const std::vector<std::byte> head = encode_cache_head(layout, checks_of(weights, layout, pool_), seal);
  static constexpr std::byte kZeros[4096] = {};
  // From 512 KiB on the kernel looks for larger runs of free pages, which took it up to ten times as long
  // (Linux 6.18, ext4, `dd` of 1 GB: 0.2 s of system time by 384 KiB, 0.8 to 2.0 s by 512 KiB and more).
  constexpr size_t kRun = size_t{320} << 10;
  formats::AtomicFile file(path);
  const auto pad_to = [&](uint64_t offset) {
    file.write(std::span(kZeros).first(static_cast<size_t>(offset - file.offset())));
  };
  file.write(head);
  for (size_t i = 0; i < weights.size(); ++i) {
    pad_to(layout.offset(i));
    for (std::span<const std::byte> left = weights[i]; !left.empty();) {
      const auto run = left.first(std::min(left.size(), kRun));
      file.write(run);
      if (!written(run.size())) return false;
      left = left.subspan(run.size());
    }
  }
  pad_to(layout.file_bytes());
  // Not synced, which would take seconds: after a crash of the machine it is read in full before it is used.
  file.publish();
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0)
    ::chmod(path.c_str(), status.st_mode & 07755);  // whatever the umask
  mark_written(path, seal.written_ns);
  return true;
}

bool CacheFolder::write(const CacheLayout& layout, CacheWeights weights,
                        const std::function<bool(uint64_t bytes)>& written) const {
  const std::string path = settings_.folder + "/" + file_name(layout.key());
  try {
    std::error_code error;
    if (std::filesystem::create_directories(settings_.folder, error)) ::chmod(settings_.folder.c_str(), 0700);
    make_room(settings_, layout.file_bytes());
    if (!write_file(path, layout, weights, written)) return false;
    say(LogLevel::info, format("{}: keeps {} bytes of packed weights", path, layout.file_bytes()));
  } catch (const Error& e) {
    if (e.code() == Code::out_of_memory) throw;
    say(LogLevel::warning, format("packed weights are not kept: {}: {}", e.where(), e.message()));
  }
  return true;
}

CacheReport report_cache(const std::string& folder) {
  CacheReport out;
  out.folder = folder;
  for (const Entry& e : list(folder)) ++out.files, out.bytes += e.bytes;
  return out;
}

CacheReport clear_cache(const std::string& folder) {
  CacheReport out;
  out.folder = folder;
  for (const Entry& e : list(folder))
    if (::unlink(e.path.c_str()) == 0) ++out.files, out.bytes += e.bytes;
  return out;
}

}  // namespace ingle::backends
