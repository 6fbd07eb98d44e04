#include "engine/phrases.h"

#include <algorithm>

namespace ingle::engine {

std::optional<size_t> Phrases::find(std::string_view text) const {
  size_t at = text.npos, end = text.npos;
  for (const std::string& phrase : phrases_) {
    const size_t found = text.find(phrase);
    if (found == text.npos) continue;
    const size_t found_end = found + phrase.size();
    if (found_end < end || (found_end == end && found < at)) at = found, end = found_end;
  }
  if (at == text.npos) return std::nullopt;
  return at;
}

size_t Phrases::started(std::string_view text) const {
  size_t most = 0;
  for (const std::string& phrase : phrases_)
    for (size_t n = std::min(text.size(), phrase.size() - 1); n > most; --n)
      if (text.ends_with(std::string_view(phrase).substr(0, n))) {
        most = n;
        break;
      }
  return most;
}

}  // namespace ingle::engine
