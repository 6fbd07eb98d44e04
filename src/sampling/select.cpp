#include "sampling/select.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sampling/math.h"

namespace ingle::sampling {
namespace {

#define INGLE_BODY inline __attribute__((always_inline))

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

namespace {

// Buckets of equal width in the logit, from the highest on, as far as weights go.
constexpr size_t kDepths = 256;
INGLE_BODY uint32_t bucket_at(double depth) {
  constexpr double kPerNat = 8;
  return static_cast<uint32_t>(static_cast<int32_t>(std::min(depth * kPerNat, kDepths - 1.0)));
}

// A block of a list at a time. The bits are the same in any vectors.
struct Block {
  double exps[kExpBlock];
  uint32_t bucket[kExpBlock];
};
INGLE_BODY void weigh_body(const Candidate* list, size_t n, double max, Block& b) {
  double depth[kExpBlock];
  for (size_t i = 0; i < n; ++i) depth[i] = std::min(max - list[i].logit, 708.0);
  for (size_t i = 0; i < n; ++i) b.exps[i] = exp_in_range(-depth[i]);
  for (size_t i = 0; i < n; ++i) b.bucket[i] = bucket_at(depth[i]);
}
using WeighBlock = void (*)(const Candidate*, size_t, double, Block&);
void weigh_plain(const Candidate* list, size_t n, double max, Block& b) { weigh_body(list, n, max, b); }
#ifdef __x86_64__
__attribute__((target("avx2"), flatten)) void weigh_avx2(const Candidate* list, size_t n, double max,
                                                         Block& b) {
  weigh_body(list, n, max, b);
}
#endif
WeighBlock weigh_block() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return weigh_avx2;
#endif
  return weigh_plain;
}

}  // namespace

Candidate reach_share(const Candidates& c, float p, std::vector<Weighted>& scratch) {
  const double max = c.max_logit();
  const WeighBlock weigh_one = weigh_block();
  std::array<uint64_t, kDepths> sums{};
  Block b;
  for (size_t begin = 0; begin < c.list.size(); begin += kExpBlock) {
    const size_t size = std::min(kExpBlock, c.list.size() - begin);
    weigh_one(c.list.data() + begin, size, max, b);
    for (size_t i = 0; i < size; ++i) sums[b.bucket[i]] += to_weight(b.exps[i]);
  }
  uint64_t total = 0;
  for (const uint64_t s : sums) total += s;
  uint64_t target = share_of(p, total) - 1;
  size_t wanted = 0;
  while (target >= sums[wanted]) target -= sums[wanted++];
  scratch.clear();
  for (const Candidate& x : c.list) {
    const double depth = std::min(max - x.logit, 708.0);
    if (bucket_at(depth) != wanted) continue;
    if (const uint64_t w = to_weight(exp_in_range(-depth)); w != 0) scratch.push_back({x.logit, x.id, w});
  }
  const Weighted last = reach(scratch, target);
  return {last.id, static_cast<float>(last.key)};
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
