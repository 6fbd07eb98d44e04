#include "sampling/row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace ingle::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kLanes = 16;  // independent chains, which the compiler turns into vectors

// One pass with a buffer of the best so far and some more: once it was full, only what ranks before the k-th
// found up to then enters, and that is little of a large vocabulary.
template <class At>
void top_of(size_t n, At at, size_t k, std::vector<Candidate>& out) {
  out.clear();
  if (k == 0) return;
  const size_t capacity = 2 * std::min(k, n) + 64;
  const auto cut_to_k = [&] {
    if (out.size() <= k) return;
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k - 1), out.end(), ranks_before);
    out.resize(k);
  };
  out.reserve(capacity);
  Candidate bound{0, -kInfinity};  // before every banned id
  for (size_t i = 0; i < n; ++i) {
    const Candidate c = at(i);
    if (!ranks_before(c, bound)) continue;
    out.push_back(c);
    if (out.size() < capacity) continue;
    cut_to_k();
    bound = out[k - 1];
  }
  cut_to_k();
}

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
  top_of(
      row.size(),
      [row](size_t id) {
        return Candidate{static_cast<int32_t>(id), row[id]};
      },
      k, out);
}

void top_of_list(std::span<const Candidate> list, size_t k, std::vector<Candidate>& out) {
  top_of(
      list.size(), [list](size_t i) { return list[i]; }, k, out);
}

}  // namespace ingle::sampling
