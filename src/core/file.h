// Where a model's bytes come from: a mapped file, a plain file, memory, or a host program's own reader.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace ingle {

// What tells a file from another one under its name, taken when it was opened.
struct FileStamp {
  uint64_t bytes = 0;
  int64_t changed_ns = 0;  // when its contents were last written, since 1970
  bool operator==(const FileStamp&) const = default;
};

// Immutable once opened; any number of threads may read.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& name() const = 0;  // for error messages
  virtual uint64_t size() const = 0;
  // Fills `out` from `offset`. Throws Code::io, also when the range does not lie inside size().
  virtual void read(uint64_t offset, std::span<std::byte> out) const = 0;
  // The whole source in memory, or null when it has to be read.
  virtual const std::byte* mapped() const { return nullptr; }
  // Of a mapped file; nothing for what is read piece by piece, or is no file.
  virtual std::optional<FileStamp> stamp() const { return std::nullopt; }
  // A hint that this range is not needed again (its pages may be dropped); the bytes stay readable.
  virtual void forget(uint64_t /*offset*/, uint64_t /*bytes*/) const {}
};
using ByteSourcePtr = std::shared_ptr<const ByteSource>;

ByteSourcePtr open_mapped(const std::string& path);  // regular files only
ByteSourcePtr open_plain(const std::string& path);   // pread, no mapping
ByteSourcePtr from_memory(std::string name,
                          std::span<const std::byte> bytes);  // borrowed: must outlive the source
// `read_at` returns false on failure. It may be called from any thread.
ByteSourcePtr from_reader(std::string name, uint64_t size,
                          std::function<bool(uint64_t offset, std::span<std::byte> out)> read_at);

// A text that the system makes up (/proc, /sys), 64 KiB of it at most; empty when it cannot be read.
std::string read_system_text(const std::string& path);

}  // namespace ingle
