#include "sampling/edit.h"

#include <algorithm>
#include <limits>

namespace ingle::sampling {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

}  // namespace

void EditStage::apply(Candidates& c) {
  const std::span<const int32_t> changed = ids();
  constexpr size_t kFew = 8;  // more are looked up faster in a list by id
  if (!c.by_id && changed.size() > kFew) {
    std::sort(c.list.begin(), c.list.end(),
              [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
    c.by_id = true;
    c.sorted = false;
  }
  bool banned = false;
  for (size_t i = 0; i < changed.size(); ++i) {
    Candidate* x = c.find(changed[i]);
    if (!x) continue;
    c.sorted = false;
    x->logit = edited(i, x->logit);
    banned |= x->logit == kBanned;
  }
  if (banned) c.keep_if([](const Candidate& x) { return x.logit != kBanned; });
}

size_t EditStage::edit_row(std::span<float> row) {
  const std::span<const int32_t> changed = ids();
  size_t n_banned = 0;
  for (size_t i = 0; i < changed.size(); ++i) {
    const auto id = static_cast<size_t>(changed[i]);
    if (id >= row.size() || row[id] == kBanned) continue;
    row[id] = edited(i, row[id]);
    n_banned += row[id] == kBanned;
  }
  return n_banned;
}

}  // namespace ingle::sampling
