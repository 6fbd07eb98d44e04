// Packed weights are kept in files, so what packing writes is pinned here. Where a sum differs, raise
// kPackingVersion in kernels/matmul.h, and only then put the new sums here.
#include <map>
#include <string>

#include "core/checksum.h"
#include "core/random.h"
#include "kernels/matmul.h"
#include "quant/weight.h"
#include "support/catch.h"

namespace ingle::kernels {
namespace {

// Of 20 rows of 512 values whose blocks are random bits.
uint64_t sum_of(const MatmulRow& row, const quant::QuantFormat& format) {
  constexpr int64_t kN = 20, kK = 512;
  std::vector<std::byte> blocks(kN * kK / format.dtype.block_elems * format.dtype.block_bytes);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::byte>(philox4x32(1, i)[0] & 0x7F);
  const quant::QuantWeight w =
      quant::block_weight({format.dtype.type, {kN, kK}, blocks.data(), blocks.size()}, "random");
  PackedWeight packed;
  packed.row = &row;
  packed.format = &format;
  packed.n = kN;
  packed.k = kK;
  packed.data = Buffer(packed_bytes(row, format, kN, kK));
  packed.data.fill_zero();
  pack_groups(w, nullptr, 0, (kN + kGroupRows - 1) / kGroupRows, packed);
  return checksum64({packed.data.data(), packed.data.size()});
}

const std::map<std::string, uint64_t> kSums = {
    {"bf16, layout 0", 0x471197ac45212c1d},     {"bf16, layout 4", 0x9104fc536ecdc2de},
    {"bool, layout 0", 0x652466c2aa53a9ca},     {"f16, layout 0", 0x471197ac45212c1d},
    {"f16, layout 2", 0xc3bc31e44e006931},      {"f32, layout 0", 0x1d589a309e59bba0},
    {"f32, layout 1", 0x31c97e0957c1a48a},      {"f64, layout 0", 0x9e968b59a1a88ae},
    {"f8_e4m3, layout 0", 0x652466c2aa53a9ca},  {"f8_e5m2, layout 0", 0x652466c2aa53a9ca},
    {"f8_e8m0, layout 0", 0x652466c2aa53a9ca},  {"i16, layout 0", 0x471197ac45212c1d},
    {"i32, layout 0", 0x1d589a309e59bba0},      {"i64, layout 0", 0x9e968b59a1a88ae},
    {"i8, layout 0", 0x652466c2aa53a9ca},       {"iq1_m, layout 0", 0x2b4c5982f339855},
    {"iq1_m, layout 35", 0xb29e1625c062048d},   {"iq1_s, layout 0", 0x32b33c2933933943},
    {"iq1_s, layout 34", 0x367b859a9afab82},    {"iq2_s, layout 0", 0x44d5d2a76dfbbad5},
    {"iq2_s, layout 33", 0x5e31c8fb97ae81b7},   {"iq2_xs, layout 0", 0x94ca181f7ee2ef98},
    {"iq2_xs, layout 33", 0xd0b70e18ccea5f3c},  {"iq2_xxs, layout 0", 0xa0f1702e4fecb4c8},
    {"iq2_xxs, layout 32", 0x6d072fe1ccdea6d2}, {"iq3_s, layout 0", 0xe085bc58c7be7e05},
    {"iq3_s, layout 30", 0xea17d06aeee7df22},   {"iq3_xxs, layout 0", 0x765d0a49d015818c},
    {"iq3_xxs, layout 31", 0xb9fbcdb405fc07f2}, {"iq4_nl, layout 0", 0xa88b97e71e8b006a},
    {"iq4_nl, layout 26", 0x96fafa8298ceff13},  {"iq4_xs, layout 0", 0xa1a1c7870ed94957},
    {"iq4_xs, layout 27", 0x67e66295fe7cc4b5},  {"mxfp4, layout 0", 0xa1a1c7870ed94957},
    {"mxfp4, layout 28", 0x6a433ba55de75798},   {"nvfp4, layout 0", 0xa88b97e71e8b006a},
    {"nvfp4, layout 29", 0x35a174a9db774505},   {"q1_0, layout 0", 0x6f500e269f881b42},
    {"q1_0, layout 36", 0xd54ed9f29299544},     {"q2_0, layout 0", 0x968b90213fe89415},
    {"q2_0, layout 36", 0x607f78f56fad3df0},    {"q2_k, layout 0", 0x320c8e76a15d07a6},
    {"q2_k, layout 24", 0x40e71dff210a5ac5},    {"q3_k, layout 0", 0xe085bc58c7be7e05},
    {"q3_k, layout 25", 0xe93567dd73266cbd},    {"q4_0, layout 0", 0xa88b97e71e8b006a},
    {"q4_0, layout 16", 0x96fafa8298ceff13},    {"q4_1, layout 0", 0xe6d875aee3d44297},
    {"q4_1, layout 17", 0xcfaca5750f6f1a6c},    {"q4_k, layout 0", 0xa88b97e71e8b006a},
    {"q4_k, layout 21", 0xa07eed525192d5cb},    {"q5_0, layout 0", 0xe13a4e2ce997666e},
    {"q5_0, layout 18", 0x5ea2227e08860601},    {"q5_1, layout 0", 0x5c697e004a183e7f},
    {"q5_1, layout 19", 0x8c45694569e4cf0a},    {"q5_k, layout 0", 0xe13a4e2ce997666e},
    {"q5_k, layout 22", 0xb402c771639fe443},    {"q6_k, layout 0", 0xcc0674612f2ed707},
    {"q6_k, layout 23", 0xfea09086dbcc941},     {"q8_0, layout 0", 0x26e8c7934e8681a1},
    {"q8_0, layout 20", 0xc68839c6100fb44e},    {"tq1_0, layout 0", 0x40d03091eb9d7c1a},
    {"tq1_0, layout 36", 0xec3563bb1c0a9ff9},   {"tq2_0, layout 0", 0xa0f1702e4fecb4c8},
    {"tq2_0, layout 36", 0xd6b1ac2c2b718ff6},   {"u16, layout 0", 0x471197ac45212c1d},
    {"u32, layout 0", 0x1d589a309e59bba0},      {"u64, layout 0", 0x9e968b59a1a88ae},
    {"u8, layout 0", 0x652466c2aa53a9ca},
};

}  // namespace

TEST_CASE("what packing writes is that of its version", "[kernels]") {
  CHECK(kPackingVersion == 1);
  int n = 0;
  for (const MatmulRow* row : all_matmul_rows()) {
    const quant::QuantFormat* format = quant::find_format(std::string_view(row->format));
    if (!format) continue;  // the row for whatever has no other
    const std::string name = std::string(format->name) + ", layout " + std::to_string(row->layout);
    CAPTURE(row->name, name);
    const auto known = kSums.find(name);
    CHECK((known == kSums.end() ? 0 : known->second) == sum_of(*row, *format));
    ++n;
  }
  CHECK(n > 20);
}

}  // namespace ingle::kernels
