// Passes over one row of logits, [vocabulary].
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sampling/stage.h"

namespace ingle::sampling {

// Throws unless the row is one that a token can come from: Code::invalid_argument for a size outside [1,
// kMaxVocab], Code::numeric for a NaN or +inf (naming the id), and when every id is banned (-inf). Returns
// the highest logit: one pass finds out both.
float check_row(std::span<const float> row, std::string_view where);

// The rest take checked rows.
float max_of_row(std::span<const float> row);
Candidate best_of_row(std::span<const float> row);  // ties to the lowest id
// The k first by ranks_before, in any order; fewer when fewer are not banned.
void top_of_row(std::span<const float> row, size_t k, std::vector<Candidate>& out);
void top_of_list(std::span<const Candidate> list, size_t k, std::vector<Candidate>& out);  // another vector's

}  // namespace ingle::sampling
