#include "kernels/ref/vec_lanes_plain.h"

#include "kernels/vec_unit.h"

namespace ingle::kernels {

extern "C" const VecRow ingle_vec_plain;
const VecRow ingle_vec_plain = vec_row("plain");

}  // namespace ingle::kernels
