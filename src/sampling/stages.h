// The stages, one file each. A value that switches a stage off makes one that does nothing.
#pragma once
#include "sampling/stage.h"

namespace ingle::sampling {

using StagePtr = std::unique_ptr<Stage>;

// Adds to the logits of some ids; -inf removes them. Ids are distinct, amounts neither NaN nor +inf.
StagePtr make_logit_bias(std::span<const Candidate> bias);

struct Penalties {
  float repeat = 1.0f;     // divides positive logits and multiplies negative ones (Keskar et al. 2019, CTRL)
  float frequency = 0.0f;  // is taken off once per occurrence
  float presence = 0.0f;   // is taken off once
  int32_t window = 64;     // last accepted tokens that count
};
StagePtr make_penalties(const Penalties& penalties);

StagePtr make_top_k(int32_t k);  // the k highest logits; 0 is off
StagePtr make_typical(float p);  // locally typical sampling (Meister et al. 2022); 1 is off
StagePtr make_top_p(float p);    // the nucleus (Holtzman et al. 2019); 1 is off
StagePtr make_min_p(float p);    // at least p of the highest probability (Nguyen et al. 2024); 0 is off
StagePtr make_temperature(float value);  // divides logits; above 0

// The last stages: they choose, and leave only the chosen one standing.
StagePtr make_greedy();             // the highest logit, ties to the lowest id
StagePtr make_draw(uint64_t seed);  // by softmax; the n-th accepted token's number is uniform(seed, n)

}  // namespace ingle::sampling
