#include "formats/names.h"

#include <algorithm>

namespace ingle::formats {

std::string quote(std::string_view name) {
  constexpr size_t kShown = 80;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : name.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out + (name.size() > kShown ? "…'" : "'");
}

void NameIndex::sort() { std::sort(entries_.begin(), entries_.end()); }

std::optional<size_t> NameIndex::find(std::string_view name) const {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const auto& entry, std::string_view n) { return entry.first < n; });
  return it != entries_.end() && it->first == name ? std::optional(it->second) : std::nullopt;
}

std::optional<std::pair<size_t, size_t>> NameIndex::duplicate() const {
  const auto it = std::adjacent_find(entries_.begin(), entries_.end(),
                                     [](const auto& a, const auto& b) { return a.first == b.first; });
  if (it == entries_.end()) return std::nullopt;
  return std::pair(it->second, std::next(it)->second);
}

}  // namespace ingle::formats
