// The default chain: logit bias → penalties → top-k → typical → top-p → min-p → temperature → draw, or with
// temperature 0: logit bias → penalties → greedy. Stages that are off are left out.
#pragma once
#include "sampling/stage.h"

namespace ingle::sampling {

// Every parameter has a closed range, checked by validate() (a NaN is refused); see params.cpp for the table.
struct SamplerParams {
  float temperature = 0.8f;        // [0, 100]; 0 is greedy
  int32_t top_k = 40;              // [0, 2^31-1]; 0 is off
  float top_p = 0.95f;             // [0, 1]; 1 is off
  float min_p = 0.05f;             // [0, 1]; 0 is off
  float typical_p = 1.0f;          // [0, 1]; 1 is off
  float repeat_penalty = 1.0f;     // [0.01, 100]; 1 is off
  float frequency_penalty = 0.0f;  // [-100, 100]
  float presence_penalty = 0.0f;   // [-100, 100]
  int32_t penalty_window = 64;     // [0, 2^20]; last tokens that the penalties see
  uint64_t seed = 0;
  std::vector<Candidate> logit_bias;  // id, added logit; -inf bans
};

// One row of the parameter table: setters of C, C++, the command line and docs all come from it.
struct ParamInfo {
  std::string_view key;
  std::string_view type;  // "float", "int"
  double low, high, initial;
  std::string_view help;
};
std::span<const ParamInfo> param_table();
// Throws Code::not_found for an unknown key (the hint has the nearest), Code::invalid_argument for a NaN, a
// value out of range, or a fraction where an integer is wanted; `p` is unchanged then. Seeds past 2^53 are
// set directly.
void set_param(SamplerParams& p, std::string_view key, double value);
double get_param(const SamplerParams& p, std::string_view key);
// Throws Code::invalid_argument naming the first parameter out of range; the ids of logit_bias are held
// against n_vocab, in [1, kMaxVocab].
void validate(const SamplerParams& p, int64_t n_vocab);

// A sampler of one sequence: seeded, clonable, able to roll back. Not thread-safe.
class Sampler {
 public:
  explicit Sampler(const SamplerParams& params);                 // throws as validate() does
  explicit Sampler(std::vector<std::unique_ptr<Stage>> stages);  // the last one chooses
  Sampler(const Sampler& other);
  Sampler& operator=(const Sampler& other);
  Sampler(Sampler&&) = default;
  Sampler& operator=(Sampler&&) = default;
  // `logits` is one row of n_vocab finite values (or -inf for banned ids). Throws Code::numeric on NaN or
  // +inf, and when no id is left. The same call gives the same id until something is accepted or rolled back.
  int32_t sample(std::span<const float> logits);
  void accept(int32_t id);       // also for prompt tokens, which the penalties see
  void rollback(int32_t n);      // at most as many as were accepted
  std::string describe() const;  // the chain's order, "penalties > top_k > …"

 private:
  std::vector<std::unique_ptr<Stage>> stages_;
  Candidates candidates_;
  int64_t n_accepted_ = 0;
};

// Natural log-probabilities of one row; the k most likely as (id, logprob), ties by lowest id. Banned ids
// have -inf, and are not among the most likely. Errors as Sampler::sample.
float log_softmax_at(std::span<const float> logits, int32_t id);
std::vector<Candidate> top_logprobs(std::span<const float> logits, int32_t k);

}  // namespace ingle::sampling
