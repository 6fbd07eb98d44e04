// A program whose logits are given: the model of tests about stopping, streaming, log-probabilities and
// cancelling.
#pragma once
#include <vector>

#include "backends/backend.h"

namespace ingle::backends {

struct Script {
  std::vector<int32_t> ids;                // what follows, in order; then `end`
  std::vector<std::vector<float>> logits;  // or rows of n_vocab logits; past the last, `end`
  int32_t end = 0;
  int64_t n_vocab = 0, n_context = 0;
};

// How far the script is, at each position, is held in the sequence's state, so fork and truncate work as for
// any model. When the token fed is not the one that the script gave, the script starts over.
std::unique_ptr<Program> make_scripted_program(Script script);

}  // namespace ingle::backends
