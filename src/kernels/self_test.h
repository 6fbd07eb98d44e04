// A quick proof on this machine: each kernel that can run here against its oracle.
#pragma once
#include <string>

#include "core/cpu.h"

namespace ingle::kernels {

// Empty when every row gives the oracle's bits, else which row, format and element differ first.
std::string self_test(const CpuFeatures& cpu);

}  // namespace ingle::kernels
