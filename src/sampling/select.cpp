#include "sampling/select.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sampling/math.h"

namespace ingle::sampling {
namespace {

constexpr size_t kSmall = 64;  // sorted outright
constexpr size_t kBuckets = 256;

// Narrows items to one of the buckets that split their range of keys: the one where the sum passes `target`,
// which becomes relative to it. False when the keys do not differ enough to be split.
bool narrow(std::vector<Weighted>& items, uint64_t& target) {
  double low = items[0].key, high = low;
  for (const Weighted& w : items) {
    low = w.key < low ? w.key : low;
    high = w.key > high ? w.key : high;
  }
  const double scale = (kBuckets - 1) / (high - low);
  if (!std::isfinite(scale) || scale == 0) return false;
  // Monotone in the key, and the highest and the lowest key never share a bucket.
  const auto bucket = [&](const Weighted& w) { return static_cast<size_t>((high - w.key) * scale + 0.5); };

  std::array<uint64_t, kBuckets> sums{};
  for (const Weighted& w : items) sums[bucket(w)] += w.weight;
  size_t b = 0;
  while (target >= sums[b]) target -= sums[b++];
  std::erase_if(items, [&](const Weighted& w) { return bucket(w) != b; });
  return true;
}

}  // namespace

Weighted reach(std::vector<Weighted>& items, uint64_t target) {
  while (items.size() > kSmall && narrow(items, target)) {
  }
  std::sort(items.begin(), items.end(),
            [](const Weighted& a, const Weighted& b) { return ranks_before(a, b); });
  size_t i = 0;
  while (target >= items[i].weight) target -= items[i++].weight;
  return items[i];
}

uint64_t weigh(const Candidates& c, std::vector<Weighted>& out) {
  const double max = c.max_logit();
  const size_t n = c.list.size();
  uint64_t total = 0;
  double exps[kExpBlock];
  out.clear();
  for (size_t begin = 0; begin < n; begin += kExpBlock) {
    const Candidate* block = c.list.data() + begin;
    const size_t size = std::min(kExpBlock, n - begin);
    for (size_t i = 0; i < size; ++i) exps[i] = exp_nonpositive(block[i].logit - max);
    for (size_t i = 0; i < size; ++i) {
      const uint64_t w = to_weight(exps[i]);
      if (w == 0) continue;
      out.push_back({block[i].logit, block[i].id, w});
      total += w;
    }
  }
  return total;
}

uint64_t share_of(float p, uint64_t total) {
  const auto share = static_cast<uint64_t>(std::ceil(static_cast<double>(p) * static_cast<double>(total)));
  return std::clamp<uint64_t>(share, 1, total);
}

}  // namespace ingle::sampling
