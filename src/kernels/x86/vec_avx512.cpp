#include "kernels/x86/vec_lanes_avx512.h"

#include "kernels/vec_unit.h"

namespace ingle::kernels {

extern "C" const VecRow ingle_vec_avx512;
const VecRow ingle_vec_avx512 = vec_row("avx512vnni");

}  // namespace ingle::kernels
