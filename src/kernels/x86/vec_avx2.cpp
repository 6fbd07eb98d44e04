#include "kernels/x86/vec_lanes_avx2.h"

#include "kernels/vec_unit.h"

namespace ingle::kernels {

extern "C" const VecRow ingle_vec_avx2;
const VecRow ingle_vec_avx2 = vec_row("avx2");

}  // namespace ingle::kernels
