// Stages that change the logits of a few ids and leave all others alone. Over a large vocabulary they work on
// the row itself, so that no list of all ids is built for their sake.
#pragma once
#include "sampling/stage.h"

namespace ingle::sampling {

class EditStage : public Stage {
 public:
  void apply(Candidates& c) final;
  // As apply(), on a row of finite logits and -inf. Returns how many ids were banned.
  size_t edit_row(std::span<float> row);

 protected:
  // Finds out which ids change now: distinct, in [0, kMaxVocab), some of them perhaps not in the vocabulary.
  virtual std::span<const int32_t> ids() = 0;
  // The new logit of one of them, the `index`th; -inf removes it.
  virtual float edited(size_t index, float logit) const = 0;
};

}  // namespace ingle::sampling
