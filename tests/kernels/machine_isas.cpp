// What tests/emulated.py reads: which instruction sets the machine has, by the kernels that it can run.
#include <cstdio>
#include <set>
#include <string>

#include "core/cpu.h"
#include "kernels/matmul.h"
#include "kernels/self_test.h"
#include "support/catch.h"

namespace ingle::kernels {

TEST_CASE("instruction sets of this machine", "[kernels][emulated]") {
  const CpuFeatures cpu = detect_cpu();
  std::set<std::string> isas;
  for (const MatmulRow* row : all_matmul_rows())
    if (can_run(*row, cpu)) isas.insert(row->isa);
  for (const std::string& isa : isas) std::printf("| isa %s\n", isa.c_str());
  CHECK(isas.count("plain") == 1);
  CHECK(self_test(cpu).empty());
}

}  // namespace ingle::kernels
