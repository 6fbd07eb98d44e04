#include "sampling/chain.h"

#include <limits>

#include "core/error.h"
#include "sampling/catalog.h"
#include "sampling/edit.h"
#include "sampling/row.h"

namespace ingle::sampling {
namespace {

std::vector<StagePtr> clone_all(const std::vector<StagePtr>& stages) {
  std::vector<StagePtr> copies;
  for (const StagePtr& stage : stages) copies.push_back(stage->clone());
  return copies;
}

constexpr const char* kWhere = "sampler";

}  // namespace

Chain::Chain(const SamplerParams& params) : Chain(build_chain(params)) {}

Chain::Chain(std::vector<StagePtr> stages) : stages_(std::move(stages)) {
  if (stages_.empty()) fail(Code::invalid_argument, kWhere, "a chain without stages");
  for (const StagePtr& stage : stages_)
    if (!stage) fail(Code::invalid_argument, kWhere, "a stage of the chain is null");
}

Chain::Chain(const Chain& other) : stages_(clone_all(other.stages_)), n_accepted_(other.n_accepted_) {}

Chain& Chain::operator=(const Chain& other) {
  stages_ = clone_all(other.stages_);  // candidates_ is scratch
  n_accepted_ = other.n_accepted_;
  return *this;
}

int32_t Chain::sample(std::span<const float> logits) {
  check_row(logits, kWhere);
  Candidates& c = candidates_;
  c.chosen = -1;
  const auto need_candidates = [&](bool some, const Stage& stage) {
    if (some) return;
    fail(Code::numeric, kWhere,
         format("stage {} of \"{}\" left no candidate of {} ids", stage.name(), describe(), logits.size()));
  };
  std::span<const float> row = logits;
  bool built = false;
  for (const StagePtr& stage : stages_) {
    if (auto* edit = built ? nullptr : dynamic_cast<EditStage*>(stage.get())) {
      if (row.data() == logits.data()) row_.assign(logits.begin(), logits.end());
      row = row_;
      if (edit->edit_row(row_) > 0)
        need_candidates(max_of_row(row) > -std::numeric_limits<float>::infinity(), *stage);
      continue;
    }
    if (!built && !stage->apply_row(row, c)) {
      c.build(row);
      stage->apply(c);
    } else if (built) {
      stage->apply(c);
    }
    built = true;
    need_candidates(!c.list.empty(), *stage);
  }
  if (c.chosen < 0)
    fail(Code::invalid_argument, kWhere, format("no stage of \"{}\" chooses", describe()),
         "end the chain with greedy or draw");
  return c.chosen;
}

void Chain::accept(int32_t id) {
  if (id < 0 || id >= kMaxVocab)
    fail(Code::invalid_argument, kWhere, format("id {} accepted, expected 0 to {}", id, kMaxVocab - 1));
  size_t done = 0;
  try {
    for (; done < stages_.size(); ++done) stages_[done]->accept(id);
  } catch (...) {  // no memory for a history: all stages are as before
    while (done-- > 0) stages_[done]->rollback(1);
    throw;
  }
  ++n_accepted_;
}

void Chain::rollback(int32_t n) {
  if (n < 0 || n > n_accepted_)
    fail(Code::invalid_argument, kWhere, format("cannot roll back {} of {} accepted tokens", n, n_accepted_));
  for (const StagePtr& stage : stages_) stage->rollback(n);
  n_accepted_ -= n;
}

std::string Chain::describe() const {
  std::string text;
  for (const StagePtr& stage : stages_) {
    if (!text.empty()) text += " > ";
    text += stage->name();
  }
  return text;
}

}  // namespace ingle::sampling
