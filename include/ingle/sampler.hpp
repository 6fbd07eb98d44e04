// How the next token is chosen: a chain of stages with a seed of its own, one per sequence.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingle/tokenizer.hpp"

namespace ingle {

// A stage of the host's own. `logits[i]` is that of `ids[i]`; the function changes logits in place, -inf
// removes an id. What it decides should follow from its arguments alone: then copies of a sampler go on
// alike. It may throw: an Error passes as it is, another exception becomes Code::invalid_argument. NaN and
// +inf are Code::numeric.
struct CustomStage {
  std::string name;  // in SamplerOptions::order and describe(): 1 to 64 of a-z, 0-9, '_', '-'
  std::function<void(std::span<const TokenId> accepted, std::span<const TokenId> ids,
                     std::span<float> logits)>
      apply;
};

// Ranges, defaults and sources of each are told by Sampler::options() and docs/samplers.md.
struct SamplerOptions {
  float temperature = 0.8f;        // [0, 100]; 0 is greedy
  int32_t top_k = 40;              // 0 is off
  float top_p = 0.95f;             // [0, 1]; 1 is off
  float min_p = 0.05f;             // [0, 1]; 0 is off
  float typical_p = 1.0f;          // [0, 1]; 1 is off
  int32_t min_keep = 1;            // tokens that each cut (top_k, top_p, min_p, …) leaves at least
  float repeat_penalty = 1.0f;     // [0.01, 100]; 1 is off
  float frequency_penalty = 0.0f;  // [-100, 100]
  float presence_penalty = 0.0f;   // [-100, 100]
  int32_t penalty_window = 64;     // last tokens that the penalties see
  uint64_t seed = 0;
  std::vector<std::pair<TokenId, float>> logit_bias;  // added to the logit; -inf bans the id

  std::vector<TokenId> banned_tokens;  // never chosen
  int32_t min_tokens = 0;              // none of end_tokens before so many accepted tokens
  std::vector<TokenId> end_tokens;     // Tokenizer::end_tokens(), for min_tokens
  int32_t no_repeat_ngram = 0;         // [0, 1024]: no n-gram of tokens twice; 0 is off

  float dry_multiplier = 0.0f;  // [0, 100]; 0 is off: an id that lengthens a repetition
  float dry_base = 1.75f;       // [1, 100]           loses multiplier * base^(length - allowed)
  int32_t dry_allowed_length = 2;
  int32_t dry_last_n = -1;            // last tokens that it sees; -1: all
  std::vector<TokenId> dry_breakers;  // end a repetition; Tokenizer::tokens_with() finds them for a text

  float top_n_sigma = 0.0f;      // [0, 1000] standard deviations below the highest logit; 0 is off
  float tfs_z = 1.0f;            // [0, 1], tail free; 1 is off
  float top_a = 0.0f;            // [0, 1]; 0 is off
  float xtc_probability = 0.0f;  // [0, 1]; 0 is off: so often, all of at least the threshold go
  float xtc_threshold = 0.1f;    // [0, 1]            but the least likely of them

  float dynatemp_range = 0.0f;     // [0, 100]; 0 is off: temperature - range when sure to temperature + range
  float dynatemp_exponent = 1.0f;  // [0.01, 100]
  float smoothing_factor = 0.0f;   // [0, 100]; 0 is off
  float smoothing_curve = 1.0f;    // [1, 10]; 1 is quadratic

  int32_t mirostat = 0;          // 0 is off; 1 and 2 are its versions, which take the place of the cuts above
  float mirostat_tau = 5.0f;     // [0, 100], bits of surprise
  float mirostat_eta = 0.1f;     // [0, 1], how fast it follows
  float adaptive_target = 0.0f;  // [0, 1], the probability to draw near; 0 is off
  float adaptive_decay = 0.9f;   // [0, 0.99]

  std::vector<CustomStage> custom;
  // The stages that take part, by the names that describe() prints, in their order. Empty: all that are on,
  // in the default order. A stage that is on by default and not named is off; one that was set must be named.
  std::vector<std::string> order;
};

struct TokenLogprob {
  TokenId id;
  float logprob;  // natural
};
// The k most likely ids of one row of logits, most likely first; ties by the lowest id.
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int32_t k);

struct OptionInfo {            // a row of the options' table
  std::string_view key, type;  // "float", "int", "list of ids", "list of names"
  double low, high, initial;   // of a list: of its elements; 0
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
  std::string describe() const;                   // the chain in order, "penalties > top_k > draw"

  static std::span<const OptionInfo> options();
  // Checked, by the table: numbers, and lists.
  static void set(SamplerOptions& options, std::string_view key, double value);
  static void set(SamplerOptions& options, std::string_view key, std::span<const TokenId> ids);
  static void set(SamplerOptions& options, std::string_view key, std::span<const std::string> names);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingle
