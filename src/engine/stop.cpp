#include "engine/stop.h"

#include <algorithm>
#include <utility>

namespace ingle::engine {
namespace {

// The longest proper prefix of `stop` that `text` ends with.
size_t started(std::string_view text, std::string_view stop) {
  for (size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n)
    if (text.ends_with(stop.substr(0, n))) return n;
  return 0;
}

}  // namespace

std::string StopFilter::push(std::string_view text) {
  if (stopped_) return {};
  std::string all = held_;  // what is held changes last, when nothing can fail any more
  all += text;
  // The stop that is complete first counts, of those that end together the longest: so the cut is the same in
  // whatever pieces the text comes.
  size_t at = std::string::npos, end = std::string::npos, keep = 0;
  for (const std::string& stop : stops_) {
    if (const size_t found = all.find(stop); found != std::string::npos) {
      const size_t found_end = found + stop.size();
      if (found_end < end || (found_end == end && found < at)) at = found, end = found_end;
    }
    keep = std::max(keep, started(all, stop));
  }
  if (at != std::string::npos) {
    stopped_ = true;
    held_.clear();
    all.resize(at);
    return all;
  }
  std::string rest = all.substr(all.size() - keep);
  held_.swap(rest);
  all.resize(all.size() - keep);
  return all;
}

std::string StopFilter::finish() { return stopped_ ? std::string() : std::exchange(held_, {}); }

}  // namespace ingle::engine
