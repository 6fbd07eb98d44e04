// Saved sessions as strings, and what the tests of them do to their records.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "core/records.h"
#include "ingle/ingle.hpp"

namespace ingle::tests {

inline std::string saved(const Session& session) {
  std::string out;
  session.save([&](std::span<const std::byte> b) {
    out.append(reinterpret_cast<const char*>(b.data()), b.size());
    return true;
  });
  return out;
}

inline Session loaded(const Model& model, const std::string& bytes, const SessionOptions& options = {}) {
  size_t at = 0;
  return Session::load(
      model,
      [&](std::span<std::byte> out) {
        if (out.size() > bytes.size() - at) return false;
        std::memcpy(out.data(), bytes.data() + at, out.size());
        at += out.size();
        return true;
      },
      options);
}

// Where the records of a saved session lie: [header, payload, end).
struct RecordPlace {
  size_t header, payload, end;
};
inline std::vector<RecordPlace> records_of(const std::string& file) {
  std::vector<RecordPlace> out;
  for (size_t at = 16; at + 16 <= file.size();) {
    uint64_t n = 0;
    std::memcpy(&n, file.data() + at + 8, 8);
    n = std::min<uint64_t>(n, file.size() - at - 16);
    out.push_back({at, at + 16, at + 16 + static_cast<size_t>(n)});
    at = out.back().end;
  }
  return out;
}

// Gives every record the checksum of what it holds now, so that a reader has to look at the content itself.
inline void seal(std::string& file) {
  const std::vector<RecordPlace> places = records_of(file);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto [header, payload, end] = places[i];
    uint32_t tag = 0;
    std::memcpy(&tag, file.data() + header, 4);
    const uint32_t sum =
        record_checksum(i, tag, std::as_bytes(std::span(file).subspan(payload, end - payload)));
    std::memcpy(file.data() + header + 4, &sum, 4);
  }
}

}  // namespace ingle::tests
