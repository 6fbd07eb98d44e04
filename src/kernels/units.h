// The rows that each instruction set's units export.
#pragma once
#include "kernels/isa.h"

namespace ingle::kernels {

struct MatmulUnit {
  const MatmulRow* rows;
  int32_t n_rows;
};

extern "C" {
extern const MatmulUnit ingle_matmul_plain;
extern const MatmulUnit ingle_matmul_avx2;
extern const MatmulUnit ingle_matmul_avx2_float;
extern const MatmulUnit ingle_matmul_avx512;
extern const MatmulUnit ingle_matmul_avx512vnni;
extern const MatmulUnit ingle_matmul_avx512bf16;
extern const MatmulUnit ingle_matmul_neon;
extern const MatmulUnit ingle_matmul_neondot;
extern const MatmulUnit ingle_matmul_neoni8mm;
}

}  // namespace ingle::kernels
