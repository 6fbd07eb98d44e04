// Which kernel runs a weight: an ordered list, most special first, and the reasons of those that do not.
#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/matmul.h"
#include "kernels/ref/ref.h"
#include "kernels/units.h"

namespace ingle::kernels {
namespace {

// ISA names in ascending order; a forced one allows itself and what is below it. And the units of this build,
// most special first.
#if defined(__aarch64__)
constexpr std::string_view kIsas[] = {"plain", "neon", "neondot", "neoni8mm"};
constexpr const MatmulUnit* kUnits[] = {&ingle_matmul_neoni8mm, &ingle_matmul_neondot, &ingle_matmul_neon,
                                        &ingle_matmul_plain};
#elif defined(__x86_64__)
constexpr std::string_view kIsas[] = {"plain", "avx2", "avx512", "avx512vnni", "avx512bf16"};
constexpr const MatmulUnit* kUnits[] = {&ingle_matmul_avx512bf16, &ingle_matmul_avx512vnni,
                                        &ingle_matmul_avx512,     &ingle_matmul_avx2,
                                        &ingle_matmul_avx2_float, &ingle_matmul_plain};
#else
constexpr std::string_view kIsas[] = {"plain"};
constexpr const MatmulUnit* kUnits[] = {&ingle_matmul_plain};
#endif
int isa_level(std::string_view isa) {
  for (size_t i = 0; i < std::size(kIsas); ++i)
    if (kIsas[i] == isa) return static_cast<int>(i);
  return -1;
}

std::vector<const MatmulRow*> list_rows() {
  std::vector<const MatmulRow*> rows;
  for (const MatmulUnit* unit : kUnits)
    for (int32_t i = 0; i < unit->n_rows; ++i) rows.push_back(unit->rows + i);
  for (const MatmulRow& row : block_rows()) rows.push_back(&row);
  return rows;
}

bool is_ref(const MatmulRow& row) { return std::string_view(row.isa) == "ref_q"; }

// Rows of ISA units want the code blocks to be whole along k, which the file's own blocks guarantee; a weight
// of another container with an odd k goes to the decode row.
std::string reject(const MatmulRow& row, const MatmulKey& key) {
  if (row.activation == kActQ8 && key.k % 32 != 0) return format("k = {} is not a multiple of 32", key.k);
  if (key.format->dtype.block_elems > 1 && key.k % key.format->dtype.block_elems != 0)
    return format("k = {} is not a multiple of the block of {}", key.k, key.format->dtype.block_elems);
  return {};
}

std::string isa_names() {
  std::string names;
  for (const std::string_view isa : kIsas) names += std::string(isa) + ", ";
  return names;
}

struct Forced {
  const MatmulRow* row = nullptr;  // a full name
  int level = 0;                   // an ISA name, or the machine's best
  bool ref = false;
};
Forced read_forced(const KernelChoice& choice) {
  Forced forced;
  forced.level = static_cast<int>(std::size(kIsas));
  const std::string& name = choice.forced;
  if (name.empty()) return forced;
  forced.ref = name == "ref_q";
  if (forced.ref) return forced;
  const int level = isa_level(name);
  bool known = level >= 0, runs = false;
  for (const MatmulRow* row : all_matmul_rows()) {
    if (name == row->name) forced.row = row;
    if (name == row->name || name == row->isa) {
      known = true;
      runs = runs || can_run(*row, choice.cpu);
    }
  }
  if (level >= 0) forced.level = level;
  if (!known)
    fail(Code::invalid_argument, "kernel", format("no kernel or instruction set is called '{}'", name),
         "use " + isa_names() + "ref_q, or a kernel's full name");
  if (!runs)
    fail(Code::unsupported, "kernel", format("this machine ({}) cannot run '{}'", choice.cpu.name, name),
         "leave the kernel unset to take the best that runs");
  return forced;
}

}  // namespace

std::span<const MatmulRow* const> all_matmul_rows() {
  static const std::vector<const MatmulRow*> rows = list_rows();
  return rows;
}

bool can_run(const MatmulRow& row, const CpuFeatures& cpu) {
  const std::string_view isa = row.isa;
  if (isa == "avx2") return cpu.avx2;
  if (isa == "avx512") return cpu.avx512;
  if (isa == "avx512vnni") return cpu.avx512_vnni;
  if (isa == "avx512bf16") return cpu.avx512_bf16;
  if (isa == "neon") return cpu.neon;
  if (isa == "neondot") return cpu.dotprod;
  if (isa == "neoni8mm") return cpu.i8mm;
  return true;
}

const MatmulRow* select_matmul(const MatmulKey& key, const KernelChoice& choice,
                               std::vector<Rejection>* rejected) {
  const Forced forced = read_forced(choice);
  // A full name binds the weights of its own format; the others of the model take their best.
  const bool by_name = forced.row && key.format->name == forced.row->format;
  for (const MatmulRow* row : all_matmul_rows()) {
    if (key.format->name != row->format) continue;
    std::string why;
    if (is_ref(*row) != forced.ref && !(by_name && row == forced.row)) {
      if (!forced.ref) continue;  // the oracle is no candidate unless it is asked for
      why = "ref_q is forced";
    } else if (by_name && row != forced.row) {
      why = format("'{}' is forced", choice.forced);
    } else if (!can_run(*row, choice.cpu)) {
      why = format("the processor lacks {}", row->isa);
    } else if (!is_ref(*row) && isa_level(row->isa) > forced.level) {
      why = format("'{}' is forced", choice.forced);
    } else {
      why = reject(*row, key);
    }
    if (why.empty()) return row;
    if (rejected) rejected->push_back({row->name, std::move(why)});
  }
  fail(Code::unsupported, "kernel", format("no kernel takes {} [{}, {}]", key.format->name, key.n, key.k));
}

}  // namespace ingle::kernels
