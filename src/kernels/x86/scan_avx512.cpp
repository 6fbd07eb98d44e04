#include "kernels/x86/vec_lanes_avx512.h"

#include "kernels/scan_rows.h"

namespace ingle::kernels {

extern "C" const ScanRow ingle_scan_avx512;
const ScanRow ingle_scan_avx512 = scan_row("avx512vnni");

}  // namespace ingle::kernels
