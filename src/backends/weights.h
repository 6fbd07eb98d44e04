// Weights of a plan as their file holds them.
#pragma once
#include "backends/plan.h"
#include "quant/weight.h"

namespace ingle::backends {

// The slice of the tensor that `weight` lies in, which alone is read: rows are still in the slice's order
// (row i is its row weight.source_row(i)). A transposed slice comes out turned and in the weight's own order;
// its values stand in `scratch`, as do those of a file that is not mapped.
quant::QuantWeight open_weight(const formats::Checkpoint& file, const PlanWeight& weight,
                               std::vector<std::byte>& scratch);
void forget_weight(const formats::Checkpoint& file,
                   const PlanWeight& weight);  // its pages are not needed again
// Nor those of its rows [row0, row1), where rows lie in the file one after another.
void forget_rows(const formats::Checkpoint& file, const PlanWeight& weight, int64_t row0, int64_t row1);

}  // namespace ingle::backends
