#include "kernels/scan.h"

#include <string_view>

namespace ingle::kernels {

extern "C" const ScanRow ingle_scan_plain;
#if defined(__x86_64__)
extern "C" const ScanRow ingle_scan_avx2;
extern "C" const ScanRow ingle_scan_avx512;
#endif

const ScanRow& scan_row_of(const VecRow& vec) {
#if defined(__x86_64__)
  for (const ScanRow* row : {&ingle_scan_avx512, &ingle_scan_avx2})
    if (std::string_view(row->isa) == vec.isa) return *row;
#endif
  return ingle_scan_plain;
}

}  // namespace ingle::kernels
