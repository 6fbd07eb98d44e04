// Fitting scales to weights: what the encoders share. Errors are weighted squared errors; every search starts
// from the plain choice (largest magnitude to the last code) and only ever takes something strictly better,
// so a result is never worse than the plain one, and is the same on every run.
#pragma once
#include <cstdint>

namespace ingle::quant {

enum class ScaleType { f32, f16 };  // what a scale is rounded to before it is judged

// 256 ones: the weights of the errors when there is no importance.
extern const float kOnes[256];
inline const float* weights_or_ones(const float* importance) { return importance ? importance : kOnes; }

// Throws Code::invalid_argument when k does not divide by the block, Code::numeric for the first NaN or
// infinity.
void check_encodable(const float* x, int64_t k, int64_t block_elems);

// The code whose value scale * code + min lies nearest to x, ties to even; `lo` when x is NaN.
int nearest_code(float x_minus_min, float inverse_scale, int lo, int hi);
inline float inverse(float scale) { return scale != 0 ? 1 / scale : 0; }
// Writes the code - lo of each x: lo = 0 gives plain unsigned codes, lo = -zero the codes of a zero point.
void assign_codes(const float* x, int n, float scale, float min, int lo, int hi, uint8_t* codes);

struct Affine {
  float scale = 0, min = 0;
};
// The weighted squared error of x when coded with codes lo … hi. n is a multiple of 8, as in all that
// follows.
float coding_error(const float* x, const float* w, int n, Affine a, int lo, int hi);
// The best scale for x = scale * code. It may be negative where lo and hi differ in magnitude (the longer
// side then takes the largest value).
float fit_scale(const float* x, const float* w, int n, int lo, int hi, ScaleType type);
// The best scale and min for x = scale * code + min, codes 0 … max_code; scale >= 0, and min <= 0 when asked.
Affine fit_affine(const float* x, const float* w, int n, int max_code, ScaleType type, bool min_not_positive);

// f16 of a scale, saturated: an infinite scale would turn a block into NaN.
uint16_t half_scale(float v);

}  // namespace ingle::quant
