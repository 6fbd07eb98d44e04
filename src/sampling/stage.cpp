#include "sampling/stage.h"

#include <algorithm>
#include <limits>

namespace ingle::sampling {

void Candidates::sort() {
  if (sorted) return;
  std::sort(list.begin(), list.end(), ranks_before);
  sorted = true;
  by_id = false;
}

float Candidates::max_logit() const {
  if (sorted) return list.front().logit;
  float best = -std::numeric_limits<float>::infinity();
  for (const Candidate& c : list) best = c.logit > best ? c.logit : best;
  return best;
}

Candidate Candidates::best() const {
  Candidate best = list.front();
  for (const Candidate& c : list) best = ranks_before(c, best) ? c : best;
  return best;
}

Candidate* Candidates::find(int32_t id) {
  if (!by_id) {
    const auto at = std::find_if(list.begin(), list.end(), [id](const Candidate& c) { return c.id == id; });
    return at == list.end() ? nullptr : &*at;
  }
  const auto index = static_cast<size_t>(id);
  if (index < list.size() && list[index].id == id) return &list[index];  // nothing before it was removed
  const auto at = std::lower_bound(list.begin(), list.end(), id,
                                   [](const Candidate& c, int32_t wanted) { return c.id < wanted; });
  return at == list.end() || at->id != id ? nullptr : &*at;
}

void Candidates::build(std::span<const float> row) {
  list.resize(row.size());
  size_t n = 0;
  for (size_t id = 0; id < row.size(); ++id) {
    list[n] = {static_cast<int32_t>(id), row[id]};
    n += row[id] >
         -std::numeric_limits<float>::infinity();  // no branch: bans by a grammar are hard to predict
  }
  list.resize(n);
  sorted = false;
  by_id = true;
}

}  // namespace ingle::sampling
