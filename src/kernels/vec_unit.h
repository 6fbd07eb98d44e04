// The row of the unit that includes this, after one of the vec_lanes headers.
#pragma once
#include "kernels/attend_rows.h"
#include "kernels/isa.h"
#include "kernels/vec_rows.h"

namespace ingle::kernels {
namespace {

constexpr VecRow vec_row(const char* isa) {
  return {isa,        quantize_q8, rms_norm,  layer_norm,  rope,    glu,
          activate,   add_rows,    scale_row, softcap_row, argmax,  all_finite,
          f16_to_f32, f32_to_f16,  kv_store,  attend,      kv_close};
}

}  // namespace
}  // namespace ingle::kernels
