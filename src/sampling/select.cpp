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
    // The bound has a loop of its own: in one with the exponential, compilers make it a branch.
    for (size_t i = 0; i < size; ++i) exps[i] = std::max(-708.0, block[i].logit - max);
    for (size_t i = 0; i < size; ++i) exps[i] = exp_in_range(exps[i]);
    for (size_t i = 0; i < size; ++i) {
      const uint64_t w = to_weight(exps[i]);
      if (w == 0) continue;
      out.push_back({block[i].logit, block[i].id, w});
      total += w;
    }
  }
  return total;
}

double mean_depth(std::span<const Weighted> items, double max) {
  uint64_t depth = 0, total = 0;  // sums of integers: the same in any order
  for (const Weighted& w : items) {
    depth += static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(w.weight) * (max - w.key) + 0.5));
    total += w.weight;
  }
  return static_cast<double>(depth) / static_cast<double>(total);
}

Weighted draw_at(const Candidates& c, float u, std::vector<Weighted>& scratch) {
  const uint64_t total = weigh(c, scratch);
  const double point = static_cast<double>(u) * static_cast<double>(total);
  return reach(scratch, std::min(static_cast<uint64_t>(point), total - 1));
}

void choose(Candidates& c, Candidate chosen) {
  c.list.assign(1, chosen);
  c.sorted = c.by_id = true;
  c.chosen = chosen.id;
}

uint64_t share_of(float p, uint64_t total) {
  const auto share = static_cast<uint64_t>(std::ceil(static_cast<double>(p) * static_cast<double>(total)));
  return std::clamp<uint64_t>(share, 1, total);
}

}  // namespace ingle::sampling
