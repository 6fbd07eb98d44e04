// The default chain: logit bias → penalties → top-k → typical → top-p → min-p → temperature → draw (or greedy).
#pragma once
#include "sampling/stage.h"

namespace ingle::sampling {

// Every parameter has a closed range, checked by validate() (a NaN is refused); see params.cpp for the table.
struct SamplerParams {
  float temperature = 0.8f;  // [0, 100]; 0 is greedy
  int32_t top_k = 40;        // [0, 2^31-1]; 0 is off
  float top_p = 0.95f;       // [0, 1]; 1 is off
  float min_p = 0.05f;       // [0, 1]; 0 is off
  float typical_p = 1.0f;    // [0, 1]; 1 is off
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
void set_param(SamplerParams& p, std::string_view key, double value);  // throws: unknown key, NaN, out of range
void validate(const SamplerParams& p, int64_t n_vocab);

// A sampler of one sequence: seeded, clonable, able to roll back.
class Sampler {
 public:
  explicit Sampler(const SamplerParams& params);
  Sampler(std::vector<std::unique_ptr<Stage>> stages);
  Sampler(const Sampler& other);
  Sampler& operator=(const Sampler& other);
  Sampler(Sampler&&) = default;
  Sampler& operator=(Sampler&&) = default;
  // `logits` is one row of n_vocab finite values (or -inf for banned ids). Throws Code::numeric on NaN or +inf.
  int32_t sample(std::span<const float> logits);
  void accept(int32_t id);  // also for prompt tokens, which the penalties see
  void rollback(int32_t n);
  std::string describe() const;  // the chain's order, "penalties > top_k > …"

 private:
  std::vector<std::unique_ptr<Stage>> stages_;
  Candidates candidates_;
};

// Natural log-probabilities of one row; the k most likely as (id, logprob), ties by lowest id.
float log_softmax_at(std::span<const float> logits, int32_t id);
std::vector<Candidate> top_logprobs(std::span<const float> logits, int32_t k);

}  // namespace ingle::sampling
