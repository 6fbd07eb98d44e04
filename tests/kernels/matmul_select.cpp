// Which kernel is chosen, and why the others are not.
#include <set>
#include <string>

#include "core/error.h"
#include "kernels/layout.h"
#include "kernels/matmul.h"
#include "support/catch.h"

namespace ingle::kernels {
namespace {

CpuFeatures machine(bool avx2, bool avx512, bool vnni) {
  CpuFeatures cpu;
  cpu.avx2 = avx2;
  cpu.avx512 = avx512;
  cpu.avx512_vnni = vnni;
  cpu.name = "a test";
  return cpu;
}
MatmulKey key(const char* format, int64_t n = 64, int64_t k = 512) {
  return {quant::find_format(format), n, k};
}
std::string chosen(const char* format, const CpuFeatures& cpu, const std::string& forced = {}) {
  return select_matmul(key(format), {cpu, forced})->name;
}

TEST_CASE("the best row that the machine can run", "[matmul]") {
  CHECK(chosen("q4_k", machine(true, true, true)) == "q4_k_q8_gemm_avx512vnni_r16");
  CHECK(chosen("q4_k", machine(true, true, false)) == "q4_k_q8_gemm_avx2_r16");
  CHECK(chosen("q4_k", machine(false, false, false)) == "q4_k_q8_gemm_plain_r16");
  CHECK(chosen("f16", machine(true, true, true)) == "f16_f32_gemm_avx512_r16");
  CHECK(chosen("f16", machine(true, false, false)) == "f16_f32_gemm_avx2_r16");
  CHECK(chosen("iq2_s", machine(true, true, true)) == "iq2_s_q8_gemm_avx512vnni_r16");
  CHECK(chosen("f8_e4m3", machine(true, true, true)) == "f8_e4m3_f32_gemm_decode_avx512");
  CHECK(chosen("f8_e4m3", machine(false, false, false)) == "f8_e4m3_f32_gemm_decode_plain");
}

TEST_CASE("each format has a row on the poorest machine", "[matmul]") {
  for (const quant::QuantFormat* format : quant::all_formats()) {
    INFO(format->name);
    const MatmulRow* row = select_matmul({format, 16, 512}, {machine(false, false, false), {}});
    REQUIRE(row);
    CHECK(std::string(row->format) == format->name);
  }
}

TEST_CASE("rows have names of their own and float tiles in every unit", "[matmul]") {
  std::set<std::string> names;
  std::set<std::string> f32_isas;
  for (const MatmulRow* row : all_matmul_rows()) {
    CHECK(names.insert(row->name).second);
    if (row->layout == kLayoutF32) f32_isas.insert(row->isa);
  }
  CHECK(f32_isas == std::set<std::string>{"plain", "avx2", "avx512"});
}

TEST_CASE("forcing an instruction set or one row", "[matmul]") {
  const CpuFeatures best = machine(true, true, true);
  CHECK(chosen("q4_k", best, "avx2") == "q4_k_q8_gemm_avx2_r16");
  CHECK(chosen("q4_k", best, "plain") == "q4_k_q8_gemm_plain_r16");
  CHECK(chosen("q4_k", best, "ref_q") == "q4_k_ref_q");
  CHECK(chosen("f16", best, "avx512vnni") == "f16_f32_gemm_avx512_r16");
  CHECK(chosen("q4_k", best, "q4_k_q8_gemm_avx2_r16") == "q4_k_q8_gemm_avx2_r16");
  CHECK(chosen("q6_k", best, "q4_k_q8_gemm_avx2_r16") == "q6_k_q8_gemm_avx512vnni_r16");
  CHECK(chosen("q4_k", best, "q4_k_f32_gemm_decode_avx512") == "q4_k_f32_gemm_decode_avx512");
}

TEST_CASE("a forced row that cannot run is an error, and so is an unknown name", "[matmul]") {
  const auto code = [](const CpuFeatures& cpu, const char* forced) {
    try {
      select_matmul(key("q4_k"), {cpu, forced});
    } catch (const Error& e) {
      return e.code();
    }
    return Code::ok;
  };
  CHECK(code(machine(true, false, false), "avx512vnni") == Code::unsupported);
  CHECK(code(machine(true, false, false), "q4_k_q8_gemm_avx512vnni_r16") == Code::unsupported);
  CHECK(code(machine(true, true, true), "avx3") == Code::invalid_argument);
}

TEST_CASE("reasons are kept", "[matmul]") {
  std::vector<Rejection> rejected;
  select_matmul(key("q4_k"), {machine(true, false, false), {}}, &rejected);
  REQUIRE(rejected.size() == 1);
  CHECK(rejected[0].kernel == "q4_k_q8_gemm_avx512vnni_r16");
  CHECK(rejected[0].reason == "the processor lacks avx512vnni");
}

}  // namespace
}  // namespace ingle::kernels
