#include "kernels/ref/vec_lanes_plain.h"

#include "kernels/scan_rows.h"

namespace ingle::kernels {

extern "C" const ScanRow ingle_scan_plain;
const ScanRow ingle_scan_plain = scan_row("plain");

}  // namespace ingle::kernels
