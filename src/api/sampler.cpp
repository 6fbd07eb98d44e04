#include "ingle/sampler.hpp"

#include <algorithm>

#include "core/error.h"
#include "sampling/chain.h"

namespace ingle {
namespace {

// The public options and the chain's parameters are one set of fields under two roofs; `f` sees each pair.
template <class Options, class Params, class F>
void each_field(Options& o, Params& p, F f) {
  f(o.temperature, p.temperature);
  f(o.top_k, p.top_k);
  f(o.top_p, p.top_p);
  f(o.min_p, p.min_p);
  f(o.typical_p, p.typical_p);
  f(o.repeat_penalty, p.repeat_penalty);
  f(o.frequency_penalty, p.frequency_penalty);
  f(o.presence_penalty, p.presence_penalty);
  f(o.penalty_window, p.penalty_window);
  f(o.seed, p.seed);
}

sampling::SamplerParams params_of(const SamplerOptions& options) {
  sampling::SamplerParams params;
  each_field(options, params, [](const auto& from, auto& to) { to = from; });
  for (const auto& [id, bias] : options.logit_bias) params.logit_bias.push_back({id, bias});
  return params;
}

}  // namespace

struct Sampler::Impl {
  sampling::Sampler chain;
  TokenId largest_biased = -1;  // which vocabulary it must lie in is known only when a row comes
};

Sampler::Sampler(const SamplerOptions& options) {
  const sampling::SamplerParams params = params_of(options);
  sampling::validate(params, 1 << 21);  // ids are checked against the vocabulary when a row is sampled
  impl_ = std::make_unique<Impl>(Impl{sampling::Sampler(params)});
  for (const sampling::Candidate& b : params.logit_bias)
    impl_->largest_biased = std::max(impl_->largest_biased, b.id);
}
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
  if (const auto n = static_cast<int64_t>(logits.size()); n > 0 && impl_->largest_biased >= n)
    fail(Code::invalid_argument, "logit_bias",
         format("id {}, expected 0 to {}", impl_->largest_biased, n - 1));
  return impl_->chain.sample(logits);
}
void Sampler::accept(TokenId id) { impl_->chain.accept(id); }
std::string Sampler::describe() const { return impl_->chain.describe(); }

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int32_t k) {
  std::vector<TokenLogprob> out;
  for (const sampling::Candidate& c : sampling::top_logprobs(logits, k)) out.push_back({c.id, c.logit});
  return out;
}

std::span<const OptionInfo> Sampler::options() {
  static const std::vector<OptionInfo> table = [] {
    std::vector<OptionInfo> rows;
    for (const sampling::ParamInfo& p : sampling::param_table())
      rows.push_back({p.key, p.type, p.low, p.high, p.initial, p.help});
    return rows;
  }();
  return table;
}

void Sampler::set(SamplerOptions& options, std::string_view key, double value) {
  sampling::SamplerParams params = params_of(options);
  sampling::set_param(params, key, value);
  each_field(options, params, [](auto& to, const auto& from) { to = from; });
}

}  // namespace ingle
