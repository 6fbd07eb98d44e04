// Every row that this machine can run, against the oracle: bit-equal for each shape, each split of the
// tokens.
#include <cmath>
#include <cstring>
#include <string>

#include "core/cpu.h"
#include "kernels/layout.h"
#include "kernels/matmul.h"
#include "kernels/ref/ref.h"
#include "matmul_data.h"
#include "support/catch.h"

namespace ingle::kernels {
namespace {

using testing::RandomActivations;
using testing::RandomWeight;

PackedWeight pack(const MatmulRow& row, const quant::QuantWeight& w) {
  PackedWeight packed;
  packed.row = &row;
  packed.format = w.format;
  packed.n = w.rows();
  packed.k = w.cols();
  packed.data = Buffer(packed_bytes(row, *w.format, packed.n, packed.k));
  pack_groups(w, nullptr, 0, (packed.n + kGroupRows - 1) / kGroupRows, packed);
  return packed;
}

struct Run {
  const float* bias = nullptr;
  int accumulate = 0;
  int64_t group0 = 0, group1 = -1;
};
void run(const PackedWeight& w, const Activations& x, float* y, int64_t ldy, const Run& how = {}) {
  Buffer scratch(static_cast<size_t>(w.row->scratch_bytes(x.m, w.k)) + 64);
  MatmulArgs args = {w.data.as<uint8_t>(),
                     w.n,
                     w.k,
                     x,
                     how.bias,
                     y,
                     ldy,
                     how.accumulate,
                     how.group0,
                     how.group1 < 0 ? (w.n + kGroupRows - 1) / kGroupRows : how.group1,
                     scratch.as<uint8_t>()};
  w.row->run(&args);
}

std::vector<float> oracle(const quant::QuantWeight& w, const Activations& x) {
  std::vector<float> y(static_cast<size_t>(x.m * w.rows()));
  ref_q_matmul(w, x, y.data(), w.rows());
  return y;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool is_grouped(const MatmulRow& row) { return row.layout != kLayoutBlocks; }

const quant::QuantFormat& format_of(const MatmulRow& row) {
  const quant::QuantFormat* format = quant::find_format(row.format);
  REQUIRE(format);
  return *format;
}

std::vector<int64_t> some_k(const quant::QuantFormat& format, bool floats) {
  if (format.dtype.block_elems > 32) return {256, 768, 1536};
  if (floats && format.dtype.block_elems == 1) return {1, 7, 33, 576};
  return {32, 64, 576, 1536};
}

template <class Check>
void for_each_row(Check check) {
  const CpuFeatures cpu = detect_cpu();
  std::string skipped;
  for (const MatmulRow* row : all_matmul_rows()) {
    if (!is_grouped(*row)) continue;
    if (can_run(*row, cpu)) {
      check(*row);
    } else {
      skipped += std::string(" ") + row->name;
    }
  }
  if (!skipped.empty()) WARN("skipped, since this machine cannot run them:" << skipped);
}

TEST_CASE("matmul rows are bit-equal to the oracle", "[matmul]") {
  for_each_row([](const MatmulRow& row) {
    const quant::QuantFormat& format = format_of(row);
    for (const int64_t k : some_k(format, row.activation != kActQ8))
      for (const int64_t n : {1, 16, 37}) {
        const RandomWeight weight(format, n, k, 7);
        const PackedWeight packed = pack(row, weight.w);
        const RandomActivations x(64, k, 11);
        const std::vector<float> want = oracle(weight.w, x.view);
        for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 31, 64}) {
          std::vector<float> got(static_cast<size_t>(m * n), -1.0f);
          run(packed, x.tokens(0, m), got.data(), n);
          INFO(row.name << " n " << n << " k " << k << " m " << m);
          CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
        }
      }
  });
}

TEST_CASE("bias, accumulation, group ranges and strides", "[matmul]") {
  for_each_row([](const MatmulRow& row) {
    const int64_t n = 45, k = 256, m = 5, ldy = 53;
    const RandomWeight weight(format_of(row), n, k, 3);
    const PackedWeight packed = pack(row, weight.w);
    const RandomActivations x(m, k, 5);
    const std::vector<float> plain = oracle(weight.w, x.view);
    testing::Random random{9};
    std::vector<float> bias(static_cast<size_t>(n)), y(static_cast<size_t>(m * ldy));
    for (float& v : bias) v = random.symmetric();
    for (float& v : y) v = random.symmetric();
    std::vector<float> want = y;
    for (int64_t t = 0; t < m; ++t)
      for (int64_t r = 16; r < n; ++r) {
        const float biased = plain[static_cast<size_t>(t * n + r)] + bias[static_cast<size_t>(r)];
        want[static_cast<size_t>(t * ldy + r)] = biased + want[static_cast<size_t>(t * ldy + r)];
      }
    run(packed, x.view, y.data(), ldy, {bias.data(), 1, 2, 3});
    run(packed, x.view, y.data(), ldy, {bias.data(), 1, 1, 2});
    INFO(row.name);
    CHECK(same_bits(y, want));
  });
}

TEST_CASE("a token's result does not depend on the tokens beside it", "[matmul]") {
  for_each_row([](const MatmulRow& row) {
    const int64_t n = 32, k = 512, m = 29;
    const RandomWeight weight(format_of(row), n, k, 13);
    const PackedWeight packed = pack(row, weight.w);
    const RandomActivations x(m, k, 17);
    std::vector<float> whole(static_cast<size_t>(m * n));
    run(packed, x.view, whole.data(), n);
    for (const int64_t part : {1, 5, 16}) {
      std::vector<float> split(whole.size());
      for (int64_t t = 0; t < m; t += part)
        run(packed, x.tokens(t, std::min(part, m - t)), split.data() + t * n, n);
      INFO(row.name << " in parts of " << part);
      CHECK(same_bits(whole, split));
    }
  });
}

TEST_CASE("long rows pass through several chunks of strips", "[matmul]") {
  for_each_row([](const MatmulRow& row) {
    const int64_t n = 16, k = 16384, m = 70;
    const RandomWeight weight(format_of(row), n, k, 23);
    const PackedWeight packed = pack(row, weight.w);
    const RandomActivations x(m, k, 29);
    std::vector<float> got(static_cast<size_t>(m * n));
    run(packed, x.view, got.data(), n);
    std::vector<float> last(static_cast<size_t>(n));
    ref_q_matmul(weight.w, x.tokens(m - 1, 1), last.data(), n);
    INFO(row.name);
    CHECK(std::memcmp(last.data(), got.data() + (m - 1) * n, last.size() * sizeof(float)) == 0);
  });
}

// Quantising activations to 8 bits per 32 errs by at most d / 2 = amax / 254 for each value; over k values of
// random sign that is about amax / 254 / sqrt(3) * |w row|. Rounding to bf16 errs by at most |x| / 512, of
// evenly spread values about amax / 512 / 3. Five of those for chance; f32 chains err by far less.
TEST_CASE("rows are near the float oracle", "[matmul]") {
  for_each_row([](const MatmulRow& row) {
    const int64_t n = 48, k = 768, m = 4;
    const RandomWeight weight(format_of(row), n, k, 31);
    const PackedWeight packed = pack(row, weight.w);
    const RandomActivations x(m, k, 37);
    std::vector<float> got(static_cast<size_t>(m * n)), want(got.size()), w(static_cast<size_t>(n * k));
    run(packed, x.view, got.data(), n);
    ref_matmul(weight.w, x.view, want.data(), n);
    weight.w.format->decode_rows(weight.w, 0, n, w.data());
    for (int64_t r = 0; r < n; ++r) {
      double norm = 0.0;
      for (int64_t i = 0; i < k; ++i)
        norm += double{w[static_cast<size_t>(r * k + i)]} * w[static_cast<size_t>(r * k + i)];
      const double per_value = row.activation == kActQ8     ? 4.0 / 254.0 / std::sqrt(3.0)
                               : row.activation == kActBf16 ? 4.0 / 512.0 / 3.0
                                                            : 2e-5;
      const double bound = 5.0 * std::sqrt(norm) * per_value;
      for (int64_t t = 0; t < m; ++t) {
        const auto at = static_cast<size_t>(t * n + r);
        INFO(row.name << " row " << r << " token " << t << ": " << got[at] << " for " << want[at]);
        CHECK(std::fabs(got[at] - want[at]) <= bound);
      }
    }
  });
}

TEST_CASE("rows of any format that keep the file's blocks", "[matmul]") {
  const CpuFeatures cpu = detect_cpu();
  for (const MatmulRow* row : all_matmul_rows()) {
    if (is_grouped(*row) || !can_run(*row, cpu)) continue;
    const quant::QuantFormat& format = format_of(*row);
    const int64_t n = 21, k = 512, m = 3;
    const RandomWeight weight(format, n, k, 41);
    const PackedWeight packed = pack(*row, weight.w);
    const RandomActivations x(m, k, 43);
    std::vector<float> got(static_cast<size_t>(m * n)), want(got.size()), decoded(static_cast<size_t>(n * k));
    run(packed, x.view, got.data(), n);
    format.decode_rows(weight.w, 0, n, decoded.data());
    if (row->activation != kActF32) {
      want = oracle(weight.w, x.view);
    } else {
      for (int64_t t = 0; t < m; ++t)
        for (int64_t r = 0; r < n; ++r) {
          float acc = 0.0f;
          for (int64_t i = 0; i < k; ++i)
            acc = std::fma(decoded[static_cast<size_t>(r * k + i)], x.view.f[t * x.ldf + i], acc);
          want[static_cast<size_t>(t * n + r)] = acc;
        }
    }
    INFO(row->name);
    bool equal = true;  // random bytes may decode to NaN, whose bits are free
    for (size_t i = 0; i < got.size(); ++i)
      equal = equal && (got[i] == want[i] || (got[i] != got[i] && want[i] != want[i]));
    CHECK(equal);
  }
}

TEST_CASE("unpacked rows are the format's own decode", "[matmul]") {
  for (const MatmulRow* row : all_matmul_rows()) {
    const quant::QuantFormat& format = format_of(*row);
    const int64_t n = 19, k = 512;
    const RandomWeight weight(format, n, k, 47);
    const PackedWeight packed = pack(*row, weight.w);
    std::vector<float> want(static_cast<size_t>(n * k)), got(want.size());
    format.decode_rows(weight.w, 0, n, want.data());
    for (int64_t r = 0; r < n; ++r) unpack_row(packed, r, got.data() + r * k);
    INFO(row->name);
    CHECK(same_bits(got, want));
  }
}

TEST_CASE("groups may be packed in any order, and rows taken from elsewhere", "[matmul]") {
  for_each_row([](const MatmulRow& row) {
    const int64_t n = 40, k = 256;
    const RandomWeight weight(format_of(row), n, k, 53);
    const PackedWeight whole = pack(row, weight.w);
    PackedWeight parts = pack(row, weight.w);
    std::memset(parts.data.data(), 0xa5, parts.data.size());
    for (const int64_t g : {2, 0, 1}) pack_groups(weight.w, nullptr, g, g + 1, parts);
    INFO(row.name);
    CHECK(std::memcmp(parts.data.data(), whole.data.data(), whole.data.size()) == 0);

    std::vector<int64_t> reversed(static_cast<size_t>(n));
    for (int64_t r = 0; r < n; ++r) reversed[static_cast<size_t>(r)] = n - 1 - r;
    pack_groups(weight.w, reversed.data(), 0, 3, parts);
    std::vector<float> a(static_cast<size_t>(k)), b(a.size());
    for (int64_t r = 0; r < n; ++r) {
      unpack_row(parts, r, a.data());
      unpack_row(whole, n - 1 - r, b.data());
      CHECK(same_bits(a, b));
    }
  });
}

}  // namespace
}  // namespace ingle::kernels
