// A file that appears under its name only when it is complete: written as NAME.part, synced, then renamed. It
// takes the place of a regular file alone, and keeps that one's permissions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ingle::formats {

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);  // throws Code::io, as do the others
  ~AtomicFile();                          // removes what commit() has not completed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();   // on disk when this returns
  void publish();  // complete for every reader, but a crash of the machine may still tear it
  uint64_t offset() const { return offset_; }

 private:
  void open_part();
  void flush();
  void rename_part();
  void write_all(std::span<const std::byte> bytes);
  [[noreturn]] void fail_with_errno(const char* doing) const;

  std::string path_, part_;
  int fd_ = -1;
  uint64_t offset_ = 0;
  std::vector<std::byte> pending_;
};

}  // namespace ingle::formats
