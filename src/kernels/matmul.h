// Matrix products with weights packed once at load. An ordered list of kernels, most special first; the first
// that does not reject a key wins, and the others' reasons are kept for the log and `ingle doctor`.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cpu.h"
#include "core/memory.h"
#include "kernels/isa.h"
#include "quant/weight.h"

namespace ingle::kernels {

struct MatmulKey {
  const quant::QuantFormat* format;
  int64_t n, k;
};

struct Rejection {
  std::string_view kernel;
  std::string reason;
};

// What was chosen for a machine: the CPU's features, or less when a row is forced by name or ISA
// ("avx2", "plain", "ref_q", …). Throws Code::unsupported when the machine cannot run the forced one.
struct KernelChoice {
  CpuFeatures cpu;
  std::string forced;  // empty: the best
};

// Never null: the last row ("decode to f32 tile") takes every format of the catalog.
const MatmulRow* select_matmul(const MatmulKey& key, const KernelChoice& choice,
                               std::vector<Rejection>* rejected = nullptr);
std::span<const MatmulRow* const> all_matmul_rows();  // in order of preference
bool can_run(const MatmulRow& row, const CpuFeatures& cpu);

// A weight in the packed layout of `row`. `transform` of the rows happens before packing (models/).
struct PackedWeight {
  const MatmulRow* row = nullptr;
  const quant::QuantFormat* format = nullptr;
  int64_t n = 0, k = 0;
  Buffer data;
};
// Of what pack_groups writes for a layout's id, format and shape: raised when any of it changes, since packed
// weights are kept in files.
constexpr uint32_t kPackingVersion = 1;
uint64_t packed_bytes(const MatmulRow& row, const quant::QuantFormat& format, int64_t n, int64_t k);
// Packs the rows of groups [group0, group1) of w into `out.data` (allocated by the caller): any number of
// threads may work on different groups. `source_row` maps a row of the result to a row of w (null: the same).
void pack_groups(const quant::QuantWeight& w, const int64_t* source_row, int64_t group0, int64_t group1,
                 PackedWeight& out);
// Row `row` back as f32, bit-equal to the format's own decode (tied embeddings read rows here).
void unpack_row(const PackedWeight& w, int64_t row, float* out);

constexpr int64_t kGroupRows = 16;

}  // namespace ingle::kernels
