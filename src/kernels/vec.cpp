#include "kernels/vec.h"

#include "core/error.h"
#include "kernels/attend_scratch.h"

namespace ingle::kernels {

extern "C" const VecRow ingle_vec_plain;
#if defined(__x86_64__)
extern "C" const VecRow ingle_vec_avx2;
extern "C" const VecRow ingle_vec_avx512;
#endif

namespace {

const VecRow* const kRows[] = {  // in order of preference
#if defined(__x86_64__)
    &ingle_vec_avx512, &ingle_vec_avx2,
#endif
    &ingle_vec_plain};

// The AVX-512 row needs no VNNI; it carries the name so that one forced ISA means one set of kernels.
bool runs_on(const VecRow& row, const CpuFeatures& cpu) {
  const std::string_view isa = row.isa;
  if (isa == "avx512vnni") return cpu.avx512;
  return isa == "avx2" ? cpu.avx2 : true;
}

// What is forced may be the name of an ISA or of a matmul row, which carries an ISA's name.
std::string_view wanted_isa(const std::string& forced) {
  const auto names = [&](std::string_view part) { return forced.find(part) != std::string::npos; };
  if (names("avx512")) return "avx512vnni";
  if (names("avx2")) return "avx2";
  if (names("plain") || names("ref") || names("neon")) return "plain";  // NEON has products alone
  fail(Code::invalid_argument, "kernel", format("no kernels are called '{}'", forced),
       "use avx512vnni, avx2 or plain");
}

}  // namespace

std::span<const VecRow* const> all_vec_rows() { return kRows; }

const VecRow& select_vec(const CpuFeatures& cpu, const std::string& forced) {
  const std::string_view isa = forced.empty() ? std::string_view{} : wanted_isa(forced);
  for (const VecRow* row : kRows) {
    if (!isa.empty() && isa != row->isa) continue;
    if (runs_on(*row, cpu)) return *row;
  }
  fail(Code::unsupported, "kernel", format("this processor cannot run the kernels for '{}'", isa),
       "leave the choice to Ingle, or use plain");
}

int64_t attend_scratch_bytes(int64_t n_rows, int64_t dk, int64_t dv) {
  return attend_scratch(n_rows, dk, dv).total * static_cast<int64_t>(sizeof(float));
}

}  // namespace ingle::kernels
