#include "sampling/row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace ingle::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kLanes = 16;  // independent chains, which the compiler turns into vectors

}  // namespace

void check_row(std::span<const float> row, std::string_view where) {
  if (row.empty() || row.size() > static_cast<size_t>(kMaxVocab))
    fail(Code::invalid_argument, std::string(where),
         format("a row of {} logits, expected 1 to {}", row.size(), kMaxVocab));
  unsigned bad = 0, standing = 0;
  for (const float x : row) {
    bad |= static_cast<unsigned>(!(x < kInfinity));  // also true for a NaN
    standing |= static_cast<unsigned>(x > -kInfinity);
  }
  if (bad) {
    const auto at = std::find_if(row.begin(), row.end(), [](float x) { return !(x < kInfinity); });
    fail(Code::numeric, std::string(where),
         format("the logit of id {} is {}, expected a finite number or -inf", at - row.begin(),
                std::isnan(*at) ? "NaN" : "+inf"));
  }
  if (!standing) fail(Code::numeric, std::string(where), format("all {} ids are banned (-inf)", row.size()));
}

float max_of_row(std::span<const float> row) {
  float best[kLanes];
  std::fill_n(best, kLanes, -kInfinity);
  size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      best[lane] = row[i + lane] > best[lane] ? row[i + lane] : best[lane];
  for (; i < row.size(); ++i) best[0] = std::max(best[0], row[i]);
  return *std::max_element(best, best + kLanes);
}

Candidate best_of_row(std::span<const float> row) {
  const float best = max_of_row(row);
  return {static_cast<int32_t>(std::find(row.begin(), row.end(), best) - row.begin()), best};
}

void top_of_row(std::span<const float> row, size_t k, std::vector<Candidate>& out) {
  out.clear();
  if (k == 0) return;
  // A buffer of the best so far and some more. An id that only equals the k-th logit found up to now loses to
  // the k ids before it, so the test is strict, and few pass it.
  const size_t capacity = 2 * std::min(k, row.size()) + 64;
  const auto cut_to_k = [&] {
    if (out.size() <= k) return;
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k - 1), out.end(), ranks_before);
    out.resize(k);
  };
  out.reserve(capacity);
  float threshold = -kInfinity;
  for (size_t id = 0; id < row.size(); ++id) {
    if (!(row[id] > threshold)) continue;
    out.push_back({static_cast<int32_t>(id), row[id]});
    if (out.size() < capacity) continue;
    cut_to_k();
    threshold = out[k - 1].logit;
  }
  cut_to_k();
}

}  // namespace ingle::sampling
