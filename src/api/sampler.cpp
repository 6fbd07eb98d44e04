#include "ingle/sampler.hpp"

#include <algorithm>

#include "core/error.h"
#include "sampling/chain.h"

namespace ingle {
struct Sampler::Impl {
  sampling::Chain chain;
  // The largest id of each list: which vocabulary they must lie in is known only when a row comes.
  TokenId biased = -1, banned = -1;

  explicit Impl(const SamplerOptions& options) : chain(options) {
    for (const auto& [id, amount] : options.logit_bias) biased = std::max(biased, id);
    for (const TokenId id : options.banned_tokens) banned = std::max(banned, id);
  }
  void check_ids(int64_t n_vocab) const {
    if (n_vocab == 0) return;  // is told by the chain
    for (const auto& [key, id] : {std::pair{"logit_bias", biased}, {"banned_tokens", banned}})
      if (id >= n_vocab)
        fail(Code::invalid_argument, key, format("id {}, expected 0 to {}", id, n_vocab - 1));
  }
};

Sampler::Sampler(const SamplerOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Sampler Sampler::greedy() {
  SamplerOptions options;
  options.temperature = 0;
  return Sampler(options);
}
Sampler::Sampler(const Sampler& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Sampler& Sampler::operator=(const Sampler& other) {
  *impl_ = *other.impl_;
  return *this;
}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

TokenId Sampler::sample(std::span<const float> logits) {
  impl_->check_ids(static_cast<int64_t>(logits.size()));
  return impl_->chain.sample(logits);
}
void Sampler::accept(TokenId id) { impl_->chain.accept(id); }
std::string Sampler::describe() const { return impl_->chain.describe(); }

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int32_t k) {
  std::vector<TokenLogprob> out;
  for (const sampling::Candidate& c : sampling::log_softmax_top(logits, k)) out.push_back({c.id, c.logit});
  return out;
}

std::span<const OptionInfo> Sampler::options() { return sampling::param_table(); }

void Sampler::set(SamplerOptions& options, std::string_view key, double value) {
  sampling::set_param(options, key, value);
}
void Sampler::set(SamplerOptions& options, std::string_view key, std::span<const TokenId> ids) {
  sampling::set_param(options, key, ids);
}
void Sampler::set(SamplerOptions& options, std::string_view key, std::span<const std::string> names) {
  sampling::set_param(options, key, names);
}

}  // namespace ingle
