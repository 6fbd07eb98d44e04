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

bool PatternSearch::push(uint8_t byte, size_t at) {
  readings_.emplace_back(dfa_->start, at);
  next_.clear();
  bool matched = false;
  for (const auto& [state, begin] :
       readings_) {  // by beginning, so the first one that comes to a state stays
    const int32_t to = dfa_->step(state, byte);
    if (to < 0) continue;
    if (!matched && dfa_->label[static_cast<size_t>(to)] >= 0) {
      matched = true;
      begin_ = begin;
    }
    if (std::exchange(seen_[static_cast<size_t>(to)], at + 1) != at + 1) next_.emplace_back(to, begin);
  }
  std::swap(readings_, next_);
  return matched;
}

size_t PatternSearch::open(size_t none) const { return readings_.empty() ? none : readings_.front().second; }

StopFilter::StopFilter(std::vector<std::string> stops, const std::vector<constrain::DfaPtr>& patterns,
                       bool include)
    : stops_(std::move(stops)), patterns_(patterns.begin(), patterns.end()), include_(include) {}

std::string StopFilter::push(std::string_view text) {
  if (stopped_) return {};
  std::string all = held_;  // what is held changes last, when nothing can fail any more
  all += text;
  // The stop that is complete first counts, of those that end together the longest: so the cut is the same in
  // whatever pieces the text comes.
  size_t at = std::string::npos, end = std::string::npos, keep = 0;
  const auto found_stop = [&](size_t begin, size_t found_end) {
    if (found_end < end || (found_end == end && begin < at)) at = begin, end = found_end;
  };
  for (const std::string& stop : stops_) {
    if (const size_t found = all.find(stop); found != std::string::npos)
      found_stop(found, found + stop.size());
    keep = std::max(keep, started(all, stop));
  }
  std::vector<PatternSearch> patterns = patterns_;
  for (PatternSearch& pattern : patterns) {
    for (size_t i = held_.size(); i < all.size(); ++i)
      if (pattern.push(static_cast<uint8_t>(all[i]), before_ + i)) {
        found_stop(pattern.begin() - before_, i + 1);
        break;
      }
    keep = std::max(keep, before_ + all.size() - pattern.open(before_ + all.size()));
  }
  if (at != std::string::npos) {
    stopped_ = true;
    held_.clear();
    all.resize(include_ ? end : at);
    return all;
  }
  std::string rest = all.substr(all.size() - keep);
  held_.swap(rest);
  patterns_.swap(patterns);
  all.resize(all.size() - keep);
  before_ += all.size();
  return all;
}

std::string StopFilter::finish() { return stopped_ ? std::string() : std::exchange(held_, {}); }

}  // namespace ingle::engine
