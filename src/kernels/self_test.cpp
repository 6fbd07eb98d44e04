#include "kernels/self_test.h"

#include <bit>
#include <cstring>
#include <vector>

#include "core/format.h"
#include "core/random.h"
#include "kernels/matmul.h"
#include "kernels/ref/ref.h"
#include "kernels/vec.h"

namespace ingle::kernels {
namespace {

constexpr int64_t kN = 40, kK = 512, kM = 5;  // a short group, two super-blocks, an odd tile

std::vector<float> random_values(int64_t n, uint64_t seed) {
  std::vector<float> out(static_cast<size_t>(n));
  for (size_t i = 0; i < out.size(); ++i) out[i] = 2 * uniform(seed, i) - 1;
  return out;
}

// Inputs that all rows share, quantised by the plain row.
struct Inputs {
  std::vector<float> f = random_values(kM * kK, 1), d = std::vector<float>(kM * kK / 32);
  std::vector<int8_t> q = std::vector<int8_t>(kM * kK);
  std::vector<int32_t> sum = std::vector<int32_t>(kM * kK / 16);
  Activations view{};

  Inputs() {
    const VecRow& plain = select_vec({}, "plain");
    for (int64_t t = 0; t < kM; ++t)
      plain.quantize_q8(&f[static_cast<size_t>(t * kK)], kK, &q[static_cast<size_t>(t * kK)],
                        &d[static_cast<size_t>(t * kK / 32)], &sum[static_cast<size_t>(t * kK / 16)]);
    view = {kM, kK, f.data(), kK, q.data(), kK, d.data(), sum.data(), kK / 32};
  }
};

std::string check(const MatmulRow& row, const quant::QuantFormat& f, const Inputs& in) {
  const auto row_bytes = static_cast<size_t>(kK / f.dtype.block_elems * f.dtype.block_bytes);
  std::vector<std::byte> blocks(row_bytes * kN);
  for (int64_t r = 0; r < kN; ++r)
    f.encode_row(random_values(kK, 100 + static_cast<uint64_t>(r)).data(), kK, nullptr,
                 &blocks[static_cast<size_t>(r) * row_bytes]);
  const quant::QuantWeight w =
      quant::block_weight({f.dtype.type, Shape{kN, kK}, blocks.data(), blocks.size()}, "self test");
  PackedWeight packed{&row, &f, kN, kK, Buffer(packed_bytes(row, f, kN, kK))};
  const int64_t groups = (kN + kGroupRows - 1) / kGroupRows;
  pack_groups(w, nullptr, 0, groups, packed);
  std::vector<float> expected(kM * kN), found(kM * kN);
  ref_q_matmul(w, in.view, expected.data(), kN);
  const Buffer scratch(static_cast<size_t>(row.scratch_bytes(kM, kK)) + 64);
  const MatmulArgs args{packed.data.as<const uint8_t>(),
                        kN,
                        kK,
                        in.view,
                        nullptr,
                        found.data(),
                        kN,
                        0,
                        0,
                        groups,
                        scratch.as<uint8_t>()};
  row.run(&args);
  for (size_t i = 0; i < found.size(); ++i)
    if (std::bit_cast<uint32_t>(found[i]) != std::bit_cast<uint32_t>(expected[i]))
      return format("{}: element {} is {}, expected {}", row.name, i, found[i], expected[i]);
  return {};
}

}  // namespace

std::string self_test(const CpuFeatures& cpu) {
  const Inputs in;
  for (const MatmulRow* row : all_matmul_rows()) {
    const quant::QuantFormat* f = quant::find_format(std::string_view(row->format));
    if (!f || !f->encode_row || !can_run(*row, cpu)) continue;
    // Rows that decode to f32 have another contract than the oracles of codes and of bf16.
    if (row->activation == kActF32 && (f->dtype.block_elems > 1 || f->dtype.type == DType::bf16)) continue;
    if (std::string difference = check(*row, *f, in); !difference.empty()) return difference;
  }
  return {};
}

}  // namespace ingle::kernels
