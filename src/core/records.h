// A stream of records, each with a tag, its length and a checksum. What a reader expects it names by tag and
// size, so damage is found before anything is believed, and nothing is allocated by a number that was only
// read.
//   record: tag u32, crc32c u32, payload bytes u64, payload.    (little-endian)
// The checksum covers the record's number in the stream too: records cannot change places.
#pragma once
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/checksum.h"

namespace ingle {

// "PAGE" as a tag.
constexpr uint32_t record_tag(const char (&text)[5]) {
  uint32_t tag = 0;
  for (int i = 3; i >= 0; --i) tag = tag << 8 | static_cast<unsigned char>(text[i]);
  return tag;
}

uint32_t record_checksum(uint64_t number, uint32_t tag, std::span<const std::byte> payload) noexcept;

class RecordWriter {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;  // throws when it cannot take them
  explicit RecordWriter(Sink sink) : sink_(std::move(sink)) {}
  void write(uint32_t tag, std::span<const std::byte> payload);
  void raw(std::span<const std::byte> bytes) { sink_(bytes); }  // before the first record

 private:
  Sink sink_;
  uint64_t n_records_ = 0;
};

// Each throws Code::corrupt, naming the record, when it is another one, ends early, or its checksum differs.
class RecordReader {
 public:
  // Fills the whole span. False: the bytes end before.
  using Source = std::function<bool(std::span<std::byte>)>;
  RecordReader(Source source, std::string name) : source_(std::move(source)), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

  // The next record, which is of just this tag and size. What was read before the failure stands in `out`.
  void read(uint32_t tag, std::span<std::byte> out);
  // The next record, of this tag and at most so many bytes.
  std::vector<std::byte> read_up_to(uint32_t tag, uint64_t most);
  void raw(std::span<std::byte> out);  // before the first record
  // For a record that holds what cannot be.
  [[noreturn]] void refuse(uint32_t tag, std::string found) const;

 private:
  struct Header {
    uint32_t tag, checksum;
    uint64_t bytes;
  };
  Header open(uint32_t tag);
  void fill(uint32_t tag, const Header& header, std::span<std::byte> out);

  Source source_;
  std::string name_;
  uint64_t n_records_ = 0, offset_ = 0;
};

// Numbers one after another in a record, as they are in memory.
class FieldWriter {
 public:
  template <class T>
  FieldWriter& add(T value) {
    static_assert(std::is_arithmetic_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  // 0 when there is no room left for it: then ok() is false.
  template <class T>
  T get() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    if (bytes_.size() < sizeof value) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace ingle
