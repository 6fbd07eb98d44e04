// Finding where a cumulative sum passes a bound, without sorting a vocabulary.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/stage.h"

namespace ingle::sampling {

// One item of a distribution, in the order of descending key, ties by ascending id.
struct Weighted {
  double key;
  int32_t id;
  uint64_t weight;
};
constexpr bool ranks_before(const Weighted& a, const Weighted& b) {
  return a.key != b.key ? a.key > b.key : a.id < b.id;
}

// The first item, in their order, at which the running sum of weights exceeds `target`. Items are shuffled
// and lost. The sum of all must exceed `target`.
Weighted reach(std::vector<Weighted>& items, uint64_t target);

// Fills `out` with the candidates of any weight under softmax, keyed by logit; returns the sum of weights.
uint64_t weigh(const Candidates& c, std::vector<Weighted>& out);

// The smallest integer sum that is at least the share p, in [0, 1], of `total`; at least 1.
uint64_t share_of(float p, uint64_t total);

// The first candidate, by descending logit, at which the running sum of weights is at least the share p, in
// [0, 1], of all; of a list that is not empty. `scratch` is written over.
Candidate reach_share(const Candidates& c, float p, std::vector<Weighted>& scratch);

// Of what weigh() filled in: the mean of max - key, which is the entropy without its ln Z.
double mean_depth(std::span<const Weighted> items, double max);

// The inverse of the cumulative distribution at u in [0, 1), candidates by descending logit.
Weighted draw_at(const Candidates& c, float u, std::vector<Weighted>& scratch);

// Leaves only the chosen one standing.
void choose(Candidates& c, Candidate chosen);

}  // namespace ingle::sampling
