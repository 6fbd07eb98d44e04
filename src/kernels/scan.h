// The recurrent rows of each ISA: recurrences and convolutions whose state goes from step to step.
#pragma once
#include "kernels/isa_scan.h"
#include "kernels/vec.h"

namespace ingle::kernels {

// The row that goes with an elementwise row: of the same instruction set.
const ScanRow& scan_row_of(const VecRow& vec);

}  // namespace ingle::kernels
