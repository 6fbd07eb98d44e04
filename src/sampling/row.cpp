#include "sampling/row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "sampling/row_loops.h"

namespace ingle::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kBlock = 64;

// A buffer of the best so far and some more: once it was full, only what ranks before the k-th found up to
// then enters, and that is little of a large vocabulary.
class Best {
 public:
  Best(size_t n, size_t k, std::vector<Candidate>& out)
      : k_(k), capacity_(2 * std::min(k, n) + 64), out_(out) {
    out.clear();
    out.reserve(capacity_);
  }
  const Candidate& bound() const { return bound_; }
  void offer(const Candidate& c) {
    if (!ranks_before(c, bound_)) return;
    out_.push_back(c);
    if (out_.size() < capacity_) return;
    cut_to_k();
    bound_ = out_[k_ - 1];
  }
  void cut_to_k() {
    if (out_.size() <= k_) return;
    const auto kth = out_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(out_.begin(), kth, out_.end(), ranks_before);
    out_.resize(k_);
  }

 private:
  size_t k_, capacity_;
  std::vector<Candidate>& out_;
  Candidate bound_{0, -kInfinity};  // before every banned id
};

// Of a whole block.
bool any_above(const float* x, float bound) {
  int n = 0;
  for (size_t i = 0; i < kBlock; ++i) n += x[i] > bound ? 1 : 0;
  return n > 0;
}

}  // namespace

float check_row(std::span<const float> row, std::string_view where) {
  if (row.empty() || row.size() > static_cast<size_t>(kMaxVocab))
    fail(Code::invalid_argument, std::string(where),
         format("a row of {} logits, expected 1 to {}", row.size(), kMaxVocab));
  bool bad = false;
  const float max = row_loops().max(row.data(), row.size(), bad);
  if (bad) {
    const auto at = std::find_if(row.begin(), row.end(), [](float x) { return !(x < kInfinity); });
    fail(Code::numeric, std::string(where),
         format("the logit of id {} is {}, expected a finite number or -inf", at - row.begin(),
                std::isnan(*at) ? "NaN" : "+inf"));
  }
  if (max == -kInfinity)
    fail(Code::numeric, std::string(where), format("all {} ids are banned (-inf)", row.size()));
  return max;
}

float max_of_row(std::span<const float> row) {
  bool bad = false;
  return row_loops().max(row.data(), row.size(), bad);
}

Candidate best_of_row(std::span<const float> row) {
  const float best = max_of_row(row);
  return {static_cast<int32_t>(row_loops().find(row.data(), row.size(), best)), best};
}

void top_of_row(std::span<const float> row, size_t k, std::vector<Candidate>& out) {
  Best best(row.size(), k, out);
  if (k == 0) return;
  for (size_t begin = 0; begin < row.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, row.size());
    // Most blocks are passed over. Ids rise, so a tie with the bound loses.
    const float bound = best.bound().logit;
    if (end - begin == kBlock && !any_above(row.data() + begin, bound)) continue;
    for (size_t i = begin; i < end; ++i) best.offer({static_cast<int32_t>(i), row[i]});
  }
  best.cut_to_k();
}

void top_of_list(std::span<const Candidate> list, size_t k, std::vector<Candidate>& out) {
  Best best(list.size(), k, out);
  if (k == 0) return;
  for (const Candidate& c : list) best.offer(c);
  best.cut_to_k();
}

}  // namespace ingle::sampling
