// The elementwise and attention rows of each ISA, and the scalar mathematics that all of them share.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "core/cpu.h"
#include "kernels/isa.h"

namespace ingle::kernels {

// The best row that `cpu` can run, or the one forced by ISA name ("plain", "avx2", "avx512vnni").
const VecRow& select_vec(const CpuFeatures& cpu, const std::string& forced);
std::span<const VecRow* const> all_vec_rows();

int64_t attend_scratch_bytes(int64_t n_rows, int64_t dk, int64_t dv);

// Own sine and cosine in double (no libm, so no machine's library changes a bit): c[i], s[i] = cos, sin of
// position * inverse_frequency[i], times `magnitude`.
void rope_angles(int64_t position, const double* inverse_frequency, int64_t n, double magnitude, float* c,
                 float* s);
double exp_double(double x);  // own exp, used where log-probabilities are made
double log_double(double x);
float half_to_float(uint16_t h);
uint16_t float_to_half(float f);  // round to nearest even

}  // namespace ingle::kernels
