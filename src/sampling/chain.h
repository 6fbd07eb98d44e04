// Parameters, and the chain that they make.
#pragma once
#include "ingle/sampler.hpp"
#include "sampling/stage.h"

namespace ingle::sampling {

// Every number has a closed range, checked by validate() (a NaN is refused); see params.cpp for the table.
using SamplerParams = SamplerOptions;

// One row of the parameter table: setters of C, C++, the command line and docs all come from it.
using ParamInfo = OptionInfo;
std::span<const ParamInfo> param_table();
// Throw Code::not_found for an unknown key (the hint has the nearest), Code::invalid_argument for a NaN, a
// value out of range, a fraction where an integer is wanted, or a list for a number; `p` is unchanged then.
// Seeds past 2^53 are set directly.
void set_param(SamplerParams& p, std::string_view key, double value);
void set_param(SamplerParams& p, std::string_view key, std::span<const int32_t> ids);
void set_param(SamplerParams& p, std::string_view key, std::span<const std::string> names);
double get_param(const SamplerParams& p, std::string_view key);  // of a number
// Throws Code::invalid_argument naming the first parameter out of range; ids are held against n_vocab, in [1,
// kMaxVocab].
void validate(const SamplerParams& p, int64_t n_vocab);

// A sampler of one sequence: seeded, clonable, able to roll back. Not thread-safe.
class Chain {
 public:
  explicit Chain(const SamplerParams& params);                 // throws as validate() does
  explicit Chain(std::vector<std::unique_ptr<Stage>> stages);  // the last one chooses
  Chain(const Chain& other);
  Chain& operator=(const Chain& other);
  Chain(Chain&&) = default;
  Chain& operator=(Chain&&) = default;
  // `logits` is one row of n_vocab finite values (or -inf for banned ids). Throws Code::numeric on NaN or
  // +inf, and when no id is left. The same call gives the same id until something is accepted or rolled back.
  int32_t sample(std::span<const float> logits);
  void accept(int32_t id);       // also for prompt tokens, which the penalties see
  void rollback(int32_t n);      // at most as many as were accepted
  std::string describe() const;  // the chain's order, "penalties > top_k > …"

 private:
  std::vector<std::unique_ptr<Stage>> stages_;
  Candidates candidates_;
  std::vector<float> row_;  // with the changes of the stages that come before any list
  int64_t n_accepted_ = 0;
};

// Natural log-probabilities of one row; the k most likely as (id, logprob), ties by lowest id. Banned ids
// have -inf, and are not among the most likely. Errors as Chain::sample.
float log_softmax_at(std::span<const float> logits, int32_t id);
std::vector<Candidate> log_softmax_top(std::span<const float> logits, int32_t k);

}  // namespace ingle::sampling
