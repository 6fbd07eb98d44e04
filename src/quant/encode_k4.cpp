#include "quant/encode_k4.h"

#include <algorithm>

#include "quant/blocks.h"
#include "quant/encode.h"

namespace ingle::quant {
namespace {

// The pair of 6-bit numbers next to the rounded ones that codes these 32 values best.
void choose_scales(const float* x, const float* w, int max_code, float d, float m, Affine fit, uint8_t& sc,
                   uint8_t& mn) {
  const int sc0 = nearest_code(fit.scale, inverse(d), 0, 63), mn0 = nearest_code(-fit.min, inverse(m), 0, 63);
  const auto error = [&](int s, int n) {
    return coding_error(x, w, 32, {d * static_cast<float>(s), -(m * static_cast<float>(n))}, 0, max_code);
  };
  int best_sc = sc0, best_mn = mn0;
  float best = error(sc0, mn0);
  for (int s = std::max(sc0 - 1, 0); s <= std::min(sc0 + 1, 63); ++s) {
    for (int n = std::max(mn0 - 1, 0); n <= std::min(mn0 + 1, 63); ++n) {
      const float e = error(s, n);
      if (!(e < best)) continue;
      best = e, best_sc = s, best_mn = n;
    }
  }
  sc = static_cast<uint8_t>(best_sc);
  mn = static_cast<uint8_t>(best_mn);
}

}  // namespace

void encode_k4(const float* x, const float* w, int max_code, K4Block& out) {
  Affine fits[8];
  float top_scale = 0, top_min = 0;
  for (int j = 0; j < 8; ++j) {
    fits[j] = fit_affine(x + 32 * j, w + 32 * j, 32, max_code, ScaleType::f32, true);
    top_scale = std::max(top_scale, fits[j].scale);
    top_min = std::max(top_min, -fits[j].min);
  }
  out.d = half_scale(top_scale / 63);
  out.m = half_scale(top_min / 63);
  const float d = half_to_float(out.d), m = half_to_float(out.m);
  for (int j = 0; j < 8; ++j) {
    choose_scales(x + 32 * j, w + 32 * j, max_code, d, m, fits[j], out.sc[j], out.mn[j]);
    assign_codes(x + 32 * j, 32, d * out.sc[j], -(m * out.mn[j]), 0, max_code, out.codes + 32 * j);
  }
}

}  // namespace ingle::quant
