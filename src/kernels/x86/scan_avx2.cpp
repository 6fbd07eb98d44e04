#include "kernels/x86/vec_lanes_avx2.h"

#include "kernels/scan_rows.h"

namespace ingle::kernels {

extern "C" const ScanRow ingle_scan_avx2;
const ScanRow ingle_scan_avx2 = scan_row("avx2");

}  // namespace ingle::kernels
