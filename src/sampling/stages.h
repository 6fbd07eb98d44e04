// The stages, one file each. A value that switches a stage off makes one that does nothing.
#pragma once
#include "ingle/sampler.hpp"
#include "sampling/stage.h"

namespace ingle::sampling {

using StagePtr = std::unique_ptr<Stage>;

// Adds to the logits of some ids; -inf removes them. Ids are distinct, amounts neither NaN nor +inf.
StagePtr make_logit_bias(std::span<const Candidate> bias);

// Removes ids. They are distinct, here and below.
StagePtr make_banned_tokens(std::span<const int32_t> ids);
StagePtr make_min_tokens(int32_t n, std::span<const int32_t> ends);  // no end before n accepted ids; 0 is off
StagePtr make_no_repeat_ngram(int32_t n);                            // no n-gram of ids twice; 0 is off

struct Penalties {
  float repeat = 1.0f;     // divides positive logits and multiplies negative ones (Keskar et al. 2019, CTRL)
  float frequency = 0.0f;  // is taken off once per occurrence
  float presence = 0.0f;   // is taken off once
  int32_t window = 64;     // last accepted tokens that count
};
StagePtr make_penalties(const Penalties& penalties);

struct Dry {
  float multiplier = 0;        // 0 is off
  float base = 1.75f;          // at least 1
  int32_t allowed_length = 2;  // repetitions of fewer tokens cost nothing; at least 0
  int32_t last_n = -1;         // last accepted tokens that count; -1: all
};
StagePtr make_dry(const Dry& dry, std::span<const int32_t> breakers);  // don't repeat yourself (p-e-w 2024)

StagePtr make_custom(const CustomStage& stage);  // a host's function

StagePtr make_top_n_sigma(float n);  // within n standard deviations of the top (Tang et al. 2024); 0 is off
StagePtr make_top_k(int32_t k);      // the k highest logits; 0 is off
// Locally typical sampling (Meister et al. 2022); 1 is off. At least `min_keep` stay.
StagePtr make_typical(float p, int32_t min_keep = 1);
StagePtr make_tail_free(float z);  // cuts the flat tail (Phénix and Egan 2019); 1 is off
StagePtr make_top_a(
    float a);  // at least a times the square of the highest probability (BlinkDL 2022); 0 is off
StagePtr make_top_p(float p);  // the nucleus (Holtzman et al. 2019); 1 is off
StagePtr make_min_p(float p);  // at least p of the highest probability (Nguyen et al. 2024); 0 is off
// With `probability`, removes all of at least `threshold` but the least likely of them (p-e-w 2024), unless
// fewer than `min_keep` would be left; 0 is off.
StagePtr make_xtc(float probability, float threshold, uint64_t seed, int32_t min_keep = 1);
// A cut that keeps the first by logit, and now n of them at least, or all that there are.
StagePtr make_at_least(StagePtr cut, int32_t n);
StagePtr make_dynamic_temperature(float value, float range,
                                  float exponent);   // by entropy; value - range below 0 is 0
StagePtr make_smoothing(float factor, float curve);  // bends the logits; factor 0 is off
StagePtr make_temperature(float value);              // divides logits; above 0

// The last stages: they choose, and leave only the chosen one standing.
StagePtr make_greedy();  // the highest logit, ties to the lowest id
StagePtr make_mirostat_1(float tau, float eta,
                         uint64_t seed);  // draws at a surprise of tau bits (Basu et al. 2021)
StagePtr make_mirostat_2(float tau, float eta, uint64_t seed);
StagePtr make_adaptive_p(float target, float decay, uint64_t seed);  // draws near a probability
StagePtr make_draw(uint64_t seed);  // by softmax; the n-th accepted token's number is uniform(seed, n)

}  // namespace ingle::sampling
