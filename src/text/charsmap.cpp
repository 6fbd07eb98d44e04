#include "text/charsmap.h"

#include "core/error.h"

namespace ingle::text {
namespace {

// The fields of a darts-clone unit.
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }
uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
bool has_leaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t value_of(uint32_t unit) { return unit & ((1u << 31) - 1); }

uint32_t read_u32(const unsigned char* p) {
  return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
         static_cast<uint32_t>(p[3]) << 24;
}

}  // namespace

CharsMap::CharsMap(const std::vector<unsigned char>& blob, const std::string& file, const std::string& key) {
  if (blob.empty()) return;
  if (blob.size() < 4)
    fail(Code::corrupt, file, format("{} has {} bytes, expected at least 4", key, blob.size()));
  const uint64_t array_bytes = read_u32(blob.data());
  if (array_bytes % 4 != 0 || array_bytes == 0 || array_bytes >= blob.size() - 4) {
    fail(Code::corrupt, file,
         format("{} says its array has {} bytes, of {} in all", key, array_bytes, blob.size()));
  }
  if (blob.back() != 0) fail(Code::corrupt, file, format("{} does not end with a zero byte", key));
  units_.reserve(array_bytes / 4);
  for (size_t i = 0; i < array_bytes; i += 4) units_.push_back(read_u32(blob.data() + 4 + i));
  texts_.assign(blob.begin() + 4 + static_cast<ptrdiff_t>(array_bytes), blob.end());
}

// A reference outside the array or the replacements ends the search: the sequence is not in the map.
CharsMap::Replacement CharsMap::find(std::string_view text, size_t at, bool first) const {
  Replacement best;
  if (units_.empty()) return best;
  uint32_t node = offset_of(units_[0]);
  for (size_t i = at; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (byte == 0 || node >= units_.size()) break;
    const uint32_t unit = units_[node];
    if (label_of(unit) != byte) break;
    node ^= offset_of(unit);
    if (node >= units_.size()) break;
    if (!has_leaf(unit)) continue;
    const uint32_t start = value_of(units_[node]);
    if (start >= texts_.size()) break;
    best = {i + 1 - at, std::string_view(texts_.data() + start)};  // the last byte of texts_ is zero
    if (first) break;
  }
  return best;
}

}  // namespace ingle::text
