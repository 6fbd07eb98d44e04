// How the next token is chosen: a chain of stages with a seed of its own, one per sequence.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingle/tokenizer.hpp"

namespace ingle {

struct SamplerOptions {
  float temperature = 0.8f;        // [0, 100]; 0 is greedy
  int32_t top_k = 40;              // 0 is off
  float top_p = 0.95f;             // [0, 1]; 1 is off
  float min_p = 0.05f;             // [0, 1]; 0 is off
  float typical_p = 1.0f;          // [0, 1]; 1 is off
  float repeat_penalty = 1.0f;     // [0.01, 100]; 1 is off
  float frequency_penalty = 0.0f;  // [-100, 100]
  float presence_penalty = 0.0f;   // [-100, 100]
  int32_t penalty_window = 64;     // last tokens that the penalties see
  uint64_t seed = 0;
  std::vector<std::pair<TokenId, float>> logit_bias;  // added to the logit; -inf bans the id
};

struct TokenLogprob {
  TokenId id;
  float logprob;  // natural
};
// The k most likely ids of one row of logits, most likely first; ties by the lowest id.
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int32_t k);

struct OptionInfo {  // a row of the options' table
  std::string_view key, type;
  double low, high, initial;
  std::string_view help;
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options = {});  // throws Code::invalid_argument naming the option
  static Sampler greedy();
  Sampler(const Sampler&);
  Sampler& operator=(const Sampler&);
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  ~Sampler();

  TokenId sample(std::span<const float> logits);  // one row; ties go to the lowest id
  void accept(TokenId id);                        // the sequence grew by this id
  std::string describe() const;                   // the chain, in order

  static std::span<const OptionInfo> options();
  static void set(SamplerOptions& options, std::string_view key, double value);  // checked, by the table

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
