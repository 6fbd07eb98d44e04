// Oracles: what the fast kernels are held against, straight from a file's blocks.
#pragma once
#include <cstdint>
#include <span>

#include "kernels/isa.h"
#include "quant/weight.h"

namespace ingle::kernels {

// The numeric contract in plain C++ (docs/contracts/numerics.md); y is [m][ldy]. Every row of kernels is
// bit-equal to this. Formats without integer codes take the f32 chain over x.f.
void ref_q_matmul(const quant::QuantWeight& w, const Activations& x, float* y, int64_t ldy);

// Float activations and f64 sums: for tolerances.
void ref_matmul(const quant::QuantWeight& w, const Activations& x, float* y, int64_t ldy);

// Rows that keep the file's blocks: for every format of the catalog one that decodes to f32 tiles per ISA,
// and ref_q.
std::span<const MatmulRow> block_rows();

}  // namespace ingle::kernels
