#include "core/records.h"

#include "core/error.h"

namespace ingle {
namespace {

constexpr size_t kHeaderBytes = 16;

// Of a tag that may be anything.
std::string tag_text(uint32_t tag) {
  std::string out;
  for (int i = 0; i < 4; ++i, tag >>= 8) {
    const char c = static_cast<char>(tag & 0xFF);
    out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out;
}

}  // namespace

uint32_t record_checksum(uint64_t number, uint32_t tag, std::span<const std::byte> payload) noexcept {
  const uint64_t fields[3] = {number, tag, payload.size()};
  return crc32c(payload, crc32c(std::as_bytes(std::span(fields))));
}

void RecordWriter::write(uint32_t tag, std::span<const std::byte> payload) {
  const uint32_t head[2] = {tag, record_checksum(n_records_++, tag, payload)};
  const uint64_t bytes = payload.size();
  std::byte header[kHeaderBytes];
  std::memcpy(header, head, 8);
  std::memcpy(header + 8, &bytes, 8);
  sink_(header);
  sink_(payload);
}

void RecordReader::refuse(uint32_t tag, std::string found) const {
  fail(Code::corrupt, format("{}, record {} ({}) before byte {}", name_, n_records_, tag_text(tag), offset_),
       std::move(found));
}

RecordReader::Header RecordReader::open(uint32_t tag) {
  std::byte bytes[kHeaderBytes];
  if (!source_(bytes)) refuse(tag, "the bytes end before it");
  offset_ += kHeaderBytes;
  Header h;
  std::memcpy(&h, bytes, sizeof h);
  if (h.tag != tag) refuse(tag, format("another record, '{}', stands in its place", tag_text(h.tag)));
  return h;
}

void RecordReader::fill(uint32_t tag, const Header& header, std::span<std::byte> out) {
  if (!source_(out)) refuse(tag, format("the bytes end within its {}", out.size()));
  offset_ += out.size();
  if (const uint32_t found = record_checksum(n_records_, tag, out); found != header.checksum)
    refuse(tag, format("its checksum is {}, expected {}: the bytes are damaged", found, header.checksum));
  ++n_records_;
}

void RecordReader::read(uint32_t tag, std::span<std::byte> out) {
  const Header h = open(tag);
  if (h.bytes != out.size()) refuse(tag, format("has {} bytes, expected {}", h.bytes, out.size()));
  fill(tag, h, out);
}

std::vector<std::byte> RecordReader::read_up_to(uint32_t tag, uint64_t most) {
  const Header h = open(tag);
  if (h.bytes > most) refuse(tag, format("has {} bytes, expected at most {}", h.bytes, most));
  std::vector<std::byte> out(static_cast<size_t>(h.bytes));
  fill(tag, h, out);
  return out;
}

void RecordReader::raw(std::span<std::byte> out) {
  if (!source_(out))
    fail(Code::corrupt, name_, format("ends within its first {} bytes", offset_ + out.size()));
  offset_ += out.size();
}

}  // namespace ingle
