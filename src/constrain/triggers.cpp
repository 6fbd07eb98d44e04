#include "constrain/triggers.h"

namespace ingle::constrain {

Triggers find_triggers(const std::vector<std::string>& texts) {
  Triggers out;
  Dfa& d = out.steps = of_texts(texts);
  const auto width = static_cast<size_t>(d.n_classes), n = static_cast<size_t>(d.size());
  out.ended.resize(n);
  for (size_t s = 0; s < n; ++s)
    if (d.label[s] >= 0) out.ended[s].push_back(d.label[s]);
  // States are numbered text by text, so they are walked by depth for the fallbacks.
  std::vector<int32_t> fallback(n, 0), order{0};
  for (size_t i = 0; i < order.size(); ++i) {
    const auto s = static_cast<size_t>(order[i]);
    for (size_t c = 0; c < width; ++c) {
      int32_t& to = d.next[s * width + c];
      const int32_t other = s == 0 ? 0 : d.next[static_cast<size_t>(fallback[s]) * width + c];
      if (to < 0) {
        to = other;
        continue;
      }
      fallback[static_cast<size_t>(to)] = other;
      const auto& more = out.ended[static_cast<size_t>(other)];
      auto& own = out.ended[static_cast<size_t>(to)];
      own.insert(own.end(), more.begin(), more.end());
      order.push_back(to);
    }
  }
  return out;
}

}  // namespace ingle::constrain
