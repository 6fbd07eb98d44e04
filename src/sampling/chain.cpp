#include "sampling/chain.h"

#include <limits>

#include "core/error.h"
#include "sampling/row.h"
#include "sampling/stages.h"

namespace ingle::sampling {
namespace {

std::vector<StagePtr> default_chain(const SamplerParams& p) {
  validate(p, kMaxVocab);
  std::vector<StagePtr> chain;
  if (!p.logit_bias.empty()) chain.push_back(make_logit_bias(p.logit_bias));
  const bool penalised =
      p.repeat_penalty != 1.0f || p.frequency_penalty != 0.0f || p.presence_penalty != 0.0f;
  if (penalised && p.penalty_window > 0)
    chain.push_back(
        make_penalties({p.repeat_penalty, p.frequency_penalty, p.presence_penalty, p.penalty_window}));
  if (p.temperature == 0.0f) {
    chain.push_back(make_greedy());
    return chain;
  }
  if (p.top_k > 0) chain.push_back(make_top_k(p.top_k));
  if (p.typical_p < 1.0f) chain.push_back(make_typical(p.typical_p));
  if (p.top_p < 1.0f) chain.push_back(make_top_p(p.top_p));
  if (p.min_p > 0.0f) chain.push_back(make_min_p(p.min_p));
  if (p.temperature != 1.0f) chain.push_back(make_temperature(p.temperature));
  chain.push_back(make_draw(p.seed));
  return chain;
}

std::vector<StagePtr> clone_all(const std::vector<StagePtr>& stages) {
  std::vector<StagePtr> copies;
  for (const StagePtr& stage : stages) copies.push_back(stage->clone());
  return copies;
}

constexpr const char* kWhere = "sampler";

}  // namespace

Sampler::Sampler(const SamplerParams& params) : Sampler(default_chain(params)) {}

Sampler::Sampler(std::vector<StagePtr> stages) : stages_(std::move(stages)) {
  if (stages_.empty()) fail(Code::invalid_argument, kWhere, "a chain without stages");
  for (const StagePtr& stage : stages_)
    if (!stage) fail(Code::invalid_argument, kWhere, "a stage of the chain is null");
}

Sampler::Sampler(const Sampler& other) : stages_(clone_all(other.stages_)), n_accepted_(other.n_accepted_) {}

Sampler& Sampler::operator=(const Sampler& other) {
  stages_ = clone_all(other.stages_);  // candidates_ is scratch
  n_accepted_ = other.n_accepted_;
  return *this;
}

int32_t Sampler::sample(std::span<const float> logits) {
  check_row(logits, kWhere);
  Candidates& c = candidates_;
  c.chosen = -1;
  bool built = false;
  for (const StagePtr& stage : stages_) {
    if (!built && !stage->apply_row(logits, c)) {
      c.build(logits);
      stage->apply(c);
    } else if (built) {
      stage->apply(c);
    }
    built = true;
    if (c.list.empty())
      fail(
          Code::numeric, kWhere,
          format("stage {} of \"{}\" left no candidate of {} ids", stage->name(), describe(), logits.size()));
  }
  if (c.chosen < 0)
    fail(Code::invalid_argument, kWhere, format("no stage of \"{}\" chooses", describe()),
         "end the chain with greedy or draw");
  return c.chosen;
}

void Sampler::accept(int32_t id) {
  if (id < 0 || id >= kMaxVocab)
    fail(Code::invalid_argument, kWhere, format("id {} accepted, expected 0 to {}", id, kMaxVocab - 1));
  for (const StagePtr& stage : stages_) stage->accept(id);
  ++n_accepted_;
}

void Sampler::rollback(int32_t n) {
  if (n < 0 || n > n_accepted_)
    fail(Code::invalid_argument, kWhere, format("cannot roll back {} of {} accepted tokens", n, n_accepted_));
  for (const StagePtr& stage : stages_) stage->rollback(n);
  n_accepted_ -= n;
}

std::string Sampler::describe() const {
  std::string text;
  for (const StagePtr& stage : stages_) {
    if (!text.empty()) text += " > ";
    text += stage->name();
  }
  return text;
}

}  // namespace ingle::sampling
