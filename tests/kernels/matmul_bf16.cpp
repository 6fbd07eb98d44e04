// What is particular to bf16 weights: pairs, subnormals as zeros, and activations in two passes.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/cpu.h"
#include "kernels/matmul.h"
#include "kernels/ref/bf16_pair.h"
#include "kernels/ref/ref.h"
#include "matmul_data.h"
#include "support/catch.h"

namespace ingle::kernels {
namespace {

struct Case {
  int64_t n, k, m;
  std::vector<uint16_t> w;
  std::vector<float> x;
  quant::QuantWeight weight{};
  Activations view{};

  Case(int64_t rows, int64_t cols, int64_t tokens) : n(rows), k(cols), m(tokens) {
    w.resize(static_cast<size_t>(n * k));
    x.resize(static_cast<size_t>(m * k));
  }
  void finish() {
    weight.format = quant::find_format("bf16");
    weight.shape = Shape{n, k};
    weight.parts[0] = {weight.format->dtype.type, weight.shape, reinterpret_cast<const std::byte*>(w.data()),
                       w.size() * 2};
    view = {m, k, x.data(), k, nullptr, 0, nullptr, nullptr, 0, 0, nullptr, nullptr, nullptr, 0};
  }
  std::vector<float> oracle(int32_t rest) const {
    std::vector<float> y(static_cast<size_t>(m * n));
    Activations a = view;
    a.passes = rest;
    ref_q_matmul(weight, a, y.data(), n);
    return y;
  }
  std::vector<float> run(const MatmulRow& row, int32_t rest) const {
    const int64_t groups = (n + kGroupRows - 1) / kGroupRows;
    PackedWeight packed{&row, weight.format, n, k, Buffer(packed_bytes(row, *weight.format, n, k))};
    pack_groups(weight, nullptr, 0, groups, packed);
    std::vector<float> y(static_cast<size_t>(m * n), -1.0f);
    Buffer scratch(static_cast<size_t>(row.scratch_bytes(m, k)) + 64);
    Activations a = view;
    a.passes = rest;
    const MatmulArgs args = {packed.data.as<uint8_t>(), n, k, a, nullptr, y.data(), n, 0, 0, groups,
                             scratch.as<uint8_t>()};
    row.run(&args);
    return y;
  }
};

template <class Check>
void for_each_bf16_row(Check check) {
  int rows = 0;
  for (const MatmulRow* row : all_matmul_rows())
    if (row->activation == kActBf16 && can_run(*row, detect_cpu())) {
      check(*row);
      ++rows;
    }
  CHECK(rows >= 2);  // plain and the oracle at least
}

// NaN is one value here: its payload and sign are free.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]) && !(a[i] != a[i] && b[i] != b[i]))
      return false;
  return a.size() == b.size();
}

TEST_CASE("bf16 products flush subnormals, add the odd element first, and round once each", "[matmul]") {
  testing::Random random{71};
  for (const int64_t k : {2, 3, 64, 65}) {
    Case c(21, k, 7);
    // Magnitudes about 2^-63, so that products and sums stand around 2^-126, and any bits at all.
    const auto small = [&](uint32_t bits) { return (bits & 0x807fffffu) | (62u + (bits >> 24) % 4u) << 23; };
    for (uint16_t& v : c.w) v = static_cast<uint16_t>(small(random.bits()) >> 16);
    for (float& v : c.x) v = std::bit_cast<float>(small(random.bits()));
    for (int64_t t = 4; t < 7; ++t)
      for (int64_t i = 0; i < k; ++i)
        c.x[static_cast<size_t>(t * k + i)] = std::bit_cast<float>(random.bits());
    for (int64_t i = 0; i < 4 * k; ++i) c.w[static_cast<size_t>(i)] = static_cast<uint16_t>(random.bits());
    c.finish();
    for (const int32_t rest : {0, 1}) {
      const std::vector<float> want = c.oracle(rest);
      for_each_bf16_row([&](const MatmulRow& row) {
        INFO(row.name << " k " << k << " rest " << rest);
        CHECK(same(c.run(row, rest), want));
      });
    }
  }
}

TEST_CASE("one step of the bf16 chain", "[matmul]") {
  const auto pair = [](float even, float odd) {
    return std::bit_cast<uint32_t>(even) >> 16 | (std::bit_cast<uint32_t>(odd) & 0xffff0000u);
  };
  const float least = std::numeric_limits<float>::min();
  // 2^24 + 1 is lost when it is added alone, so the order shows.
  CHECK(bf16_pair_fma(pair(1, 16777216), pair(1, 1), 1) == 16777216);
  CHECK(bf16_pair_fma(pair(16777216, 1), pair(1, 1), 1) == 16777218);
  CHECK(bf16_pair_fma(pair(0x1p-100f, 0), pair(0x1p-27f, 0), 0) == 0);  // a subnormal result
  CHECK(bf16_pair_fma(pair(0x1p-130f, 0), pair(0x1p20f, 0), 0) == 0);   // a subnormal weight
  CHECK(bf16_pair_fma(pair(1, 0), pair(1, 0), 0x1p-130f) == 1);
  CHECK(bf16_pair_fma(pair(0x1p-76f, 0), pair(-0x1p-76f, 0), least) ==
        least);  // rounds up to the least normal
  CHECK(bf16_pair_fma(pair(0x1p-75f, 0), pair(-0x1p-75f, 0), least) ==
        0);  // would round up as a subnormal only
}

TEST_CASE("two passes of bf16 activations carry 16 bits", "[matmul]") {
  Case c(16, 512, 3);
  testing::Random random{73};
  for (uint16_t& v : c.w) v = quant::float_to_bf16(random.symmetric());
  for (float& v : c.x) v = random.symmetric();
  c.finish();
  std::vector<float> exact(static_cast<size_t>(c.m * c.n));
  ref_matmul(c.weight, c.view, exact.data(), c.n);
  const std::vector<float> high = c.oracle(0), low = c.oracle(1);
  double one = 0, two = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    one = std::fmax(one, std::fabs(high[i] - exact[i]));
    two = std::fmax(two, std::fabs(high[i] + low[i] - exact[i]));
  }
  CHECK(one > 1e-3);
  CHECK(two < 1e-4);
}

}  // namespace
}  // namespace ingle::kernels
