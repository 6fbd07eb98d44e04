#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "core/records.h"
#include "kv/block_tier.h"

namespace ingle::kv {
namespace {

constexpr char kMagic[8] = {'I', 'N', 'G', 'L', 'E', 'B', 'L', '1'};
constexpr uint32_t kHead = record_tag("HEAD"), kPiece = record_tag("PIEC"), kBytes = record_tag("BYTE");
constexpr uint64_t kMostPieces = 4096;
constexpr std::string_view kSuffix = ".block";

int64_t monotonic_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string file_name(const Digest& name) {
  std::string out;
  for (const std::byte b : name)
    for (const int digit : {std::to_integer<int>(b >> 4), std::to_integer<int>(b & std::byte{15})})
      out += "0123456789abcdef"[digit];
  return out + std::string(kSuffix);
}

std::optional<Digest> digest_of(std::string_view file) {
  if (file.size() != 64 + kSuffix.size() || !file.ends_with(kSuffix)) return std::nullopt;
  Digest out{};
  for (size_t i = 0; i < 64; ++i) {
    const size_t digit = std::string_view("0123456789abcdef").find(file[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    out[i / 2] = out[i / 2] << 4 | static_cast<std::byte>(digit);
  }
  return out;
}

// An open file; closed at the end.
struct File {
  explicit File(int f) : fd(f) {}
  ~File() {
    if (fd >= 0) ::close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool write_all(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return true;
  }
  bool read_all(std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::read(fd, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return true;
  }
  int fd;
};

struct Late {};  // a read passed its deadline

}  // namespace

struct DiskTier::Impl {
  struct Entry {
    uint64_t bytes;
    std::list<Digest>::iterator order;
  };

  explicit Impl(DiskTierOptions o) : options(std::move(o)), lock_file(-1) {
    if (!options.now_us) options.now_us = monotonic_us;
    const std::string lock = options.folder + "/lock";
    lock_file.fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock_file.fd < 0)
      fail(Code::io, options.folder, format("cannot be written: {}", std::generic_category().message(errno)));
    if (::flock(lock_file.fd, LOCK_EX | LOCK_NB) != 0)
      fail(Code::busy, options.folder, "another process keeps its blocks in this folder");
    scan();
    shrink(options.max_bytes);
    tokens_us = options.now_us();
    allowance = static_cast<double>(options.write_bytes_per_s);
  }

  std::string path(const Digest& name) const { return options.folder + "/" + file_name(name); }

  // What an earlier run left: the oldest files first.
  void scan() {
    std::error_code error;
    std::filesystem::directory_iterator entry(options.folder, error);
    if (error) fail(Code::io, options.folder, format("cannot be read: {}", error.message()));
    std::multimap<int64_t, std::pair<Digest, uint64_t>> found;
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      if (file.ends_with(".block.part")) ::unlink(entry->path().c_str());
      const auto name = digest_of(file);
      struct stat status = {};
      if (!name || ::lstat(path(*name).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      found.emplace(status.st_mtime, std::pair(*name, static_cast<uint64_t>(status.st_size)));
    }
    for (const auto& [time, file] : found) add(file.first, file.second);
  }

  void add(const Digest& name, uint64_t bytes) {
    order.push_back(name);
    entries[name] = {bytes, std::prev(order.end())};
    counts.bytes += bytes;
    ++counts.blocks;
  }
  void remove(const Digest& name) {
    const auto found = entries.find(name);
    if (found == entries.end()) return;
    ::unlink(path(name).c_str());
    counts.bytes -= found->second.bytes;
    --counts.blocks;
    ++counts.removed;
    order.erase(found->second.order);
    entries.erase(found);
  }
  // The least recently used go.
  void shrink(uint64_t most) {
    while (counts.bytes > most && !order.empty()) remove(Digest(order.front()));
  }

  // A bucket that fills with write_bytes_per_s, and holds a second's worth.
  bool may_write(uint64_t bytes) {
    const int64_t now = options.now_us();
    const auto rate = static_cast<double>(options.write_bytes_per_s);
    allowance = std::min(rate, allowance + rate * static_cast<double>(now - tokens_us) / 1e6);
    tokens_us = now;
    if (static_cast<double>(bytes) > allowance) return false;
    allowance -= static_cast<double>(bytes);
    return true;
  }

  bool write(const std::string& to, const Digest& name, std::span<const BlockPiece> pieces,
             std::span<const std::span<const std::byte>> bytes) const {
    const File file(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.fd < 0) return false;
    bool ok = true;
    RecordWriter out([&](std::span<const std::byte> b) { ok = ok && file.write_all(b); });
    out.raw(std::as_bytes(std::span(kMagic)));
    FieldWriter head;
    for (const Digest* d : {&options.fingerprint, &name})
      for (const std::byte b : *d) head.add(std::to_integer<uint8_t>(b));
    head.add(uint64_t{pieces.size()});
    out.write(kHead, head.bytes());
    for (size_t i = 0; i < pieces.size() && ok; ++i) {
      FieldWriter piece;
      piece.add(uint64_t{pieces[i].part}).add(pieces[i].offset).add(uint64_t{bytes[i].size()});
      out.write(kPiece, piece.bytes());
      out.write(kBytes, bytes[i]);
    }
    return ok;
  }

  // Throws Code::corrupt, Late. False: the receiver did not want a piece.
  bool read(const Digest& name, const Place& place) const {
    const File file(::open(path(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.fd < 0) fail(Code::not_found, file_name(name), "is gone");
    const int64_t end = options.now_us() + options.read_deadline_us;
    RecordReader in(
        [&](std::span<std::byte> out) {
          if (options.now_us() > end) throw Late{};
          return file.read_all(out);
        },
        file_name(name));
    char magic[sizeof kMagic];
    in.raw(std::as_writable_bytes(std::span(magic)));
    std::byte head[2 * sizeof(Digest) + 8];
    in.read(kHead, head);
    uint64_t n_pieces = 0;
    std::memcpy(&n_pieces, head + 2 * sizeof(Digest), 8);
    if (std::memcmp(magic, kMagic, sizeof magic) != 0 || n_pieces > kMostPieces ||
        std::memcmp(head, options.fingerprint.data(), sizeof(Digest)) != 0 ||
        std::memcmp(head + sizeof(Digest), name.data(), sizeof(Digest)) != 0)
      in.refuse(kHead, "is of another model or block");
    for (uint64_t i = 0; i < n_pieces; ++i) {
      uint64_t fields[3];
      in.read(kPiece, std::as_writable_bytes(std::span(fields)));
      if (fields[0] > UINT32_MAX) in.refuse(kPiece, format("is of part {}", fields[0]));
      std::byte* const to =
          place({static_cast<uint32_t>(fields[0]), static_cast<int64_t>(fields[1])}, fields[2]);
      if (!to) return false;
      in.read(kBytes, {to, static_cast<size_t>(fields[2])});
    }
    return true;
  }

  DiskTierOptions options;
  File lock_file;
  mutable std::mutex mutex;
  std::map<Digest, Entry> entries;
  std::list<Digest> order;  // the least recently used first
  DiskTierStats counts;
  double allowance = 0;
  int64_t tokens_us = 0;
};

DiskTier::DiskTier(DiskTierOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
DiskTier::~DiskTier() = default;

void DiskTier::put(const Digest& name, std::span<const BlockPiece> pieces,
                   std::span<const std::span<const std::byte>> bytes) noexcept {
  Impl& s = *impl_;
  const std::lock_guard lock(s.mutex);
  try {
    if (s.entries.count(name)) return;
    uint64_t total = sizeof kMagic + 16 + 2 * sizeof(Digest) + 8;
    for (const auto& b : bytes) total += 2 * 16 + 24 + b.size();
    if (total > s.options.max_bytes || !s.may_write(total)) {
      ++s.counts.refused;
      return;
    }
    s.shrink(s.options.max_bytes - total);
    const std::string path = s.path(name), part = path + ".part";
    if (!s.write(part, name, pieces, bytes) || ::rename(part.c_str(), path.c_str()) != 0) {
      ::unlink(part.c_str());
      ++s.counts.failed_writes;
      return;
    }
    s.add(name, total);
    ++s.counts.written;
  } catch (const std::exception&) {
    ++s.counts.failed_writes;
  }
}

uint64_t DiskTier::size_of(const Digest& name) noexcept {
  const std::lock_guard lock(impl_->mutex);
  const auto found = impl_->entries.find(name);
  return found == impl_->entries.end() ? 0 : found->second.bytes;
}

// The receiver may ask for memory, and that for this tier's put(): the file is read without the lock.
bool DiskTier::get(const Digest& name, const Place& place) {
  Impl& s = *impl_;
  if (size_of(name) == 0) return false;
  uint64_t DiskTierStats::*outcome = &DiskTierStats::read;
  bool ok = false;
  try {
    if (!s.read(name, place)) return false;
    ok = true;
  } catch (const Late&) {
    outcome = &DiskTierStats::late;
  } catch (const Error& e) {
    if (e.code() == Code::out_of_memory) return false;
    outcome = e.code() == Code::not_found ? &DiskTierStats::missing : &DiskTierStats::damaged;
  }
  const std::lock_guard lock(s.mutex);
  ++(s.counts.*outcome);
  const auto found = s.entries.find(name);
  if (found == s.entries.end()) return ok;
  if (ok)
    s.order.splice(s.order.end(), s.order, found->second.order);
  else if (outcome != &DiskTierStats::late)
    s.remove(name);
  return ok;
}

DiskTierStats DiskTier::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->counts;
}

}  // namespace ingle::kv
