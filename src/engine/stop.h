// Stop strings over streamed text: a false start is held back, never leaked, and the stop itself is never
// shown.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ingle::engine {

class StopFilter {
 public:
  StopFilter() = default;
  explicit StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  // Returns what became certain of not being part of a stop. Once stopped(), the rest is swallowed. When it
  // throws (no memory), nothing has changed.
  std::string push(std::string_view text);
  std::string finish();  // the answer ended otherwise: what was held back belongs to it
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace ingle::engine
