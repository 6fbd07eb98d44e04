// Alternating updates (Baykal et al., arXiv:2301.13310): several streams, of which one is computed and the
// others are predicted and corrected.
#pragma once
#include "models/flow.h"

namespace ingle::models {

// Roles "altup_proj", "altup_unembd_proj" (of the model), "altup_router", "altup_router_norm",
// "altup_predict_coef", "altup_correct_coef".
struct AltUp {
  Flow& f;
  int64_t n, active, hidden = f.config.hidden;
  Id held = f.b.buffer(n * hidden), predicted = f.b.buffer(n * hidden), change = f.b.buffer(n * hidden),
     one = f.b.buffer(hidden), other = f.b.buffer(hidden);

  void begin(Id x) const;                   // the streams from the embedding
  void predict(int64_t layer, Id x) const;  // x: the active stream's prediction
  // held = predicted + (1 + coefficients) * (x - the active one predicted)
  void correct(int64_t layer, Id x) const;
  void add_to_others(Id y) const;  // to all streams but the first
  void end(Id x) const;            // x: the mean of all, each brought to the magnitude of the first

 private:
  LinearSpec numbered(std::string_view role, int64_t i) const;
  void put(Id from, Id to, int64_t i) const;
  Id modalities(int64_t layer, Id x) const;
};

}  // namespace ingle::models
