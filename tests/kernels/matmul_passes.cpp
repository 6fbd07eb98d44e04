// Two passes over the activations in one call, and strips that are kept from call to call.
#include <cstring>

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

struct Packed {
  RandomWeight weight;
  PackedWeight w;
  Packed(const MatmulRow& row, int64_t n, int64_t k, uint64_t seed)
      : weight(*quant::find_format(row.format), n, k, seed) {
    w.row = &row;
    w.format = weight.w.format;
    w.n = n;
    w.k = k;
    w.data = Buffer(packed_bytes(row, *w.format, n, k));
    pack_groups(weight.w, nullptr, 0, groups(), w);
  }
  int64_t groups() const { return (w.n + kGroupRows - 1) / kGroupRows; }
};

// What a call does besides: a bias, and adding to what is there.
struct Extra {
  const float* bias = nullptr;
  int32_t accumulate = 0;
  int64_t group0 = 0, group1 = -1;
};
void run(const Packed& p, const Activations& x, float* y, uint8_t* scratch, const Extra& how = {}) {
  const MatmulArgs args = {p.w.data.as<uint8_t>(),
                           p.w.n,
                           p.w.k,
                           x,
                           how.bias,
                           y,
                           p.w.n,
                           how.accumulate,
                           how.group0,
                           how.group1 < 0 ? p.groups() : how.group1,
                           scratch};
  p.w.row->run(&args);
}

Buffer scratch_for(const MatmulRow& row, int64_t records, int64_t k) {
  Buffer scratch(static_cast<size_t>(row.scratch_bytes(records, k)) + 64);
  std::memset(scratch.data(), 0, 64);
  return scratch;
}

template <class Check>
void for_each_row(Check check) {
  for (const MatmulRow* row : all_matmul_rows())
    if (row->activation != kActF32 && can_run(*row, detect_cpu())) check(*row);
}

Activations both_of(const Activations& x, const Activations& rest) {
  Activations a = x;
  a.passes = kPassBoth;
  a.rest_q = rest.q;
  a.rest_d = rest.d;
  a.rest_sum = rest.sum;
  return a;
}

TEST_CASE("both passes in one call are the first, bias and residual, then the rest", "[matmul]") {
  for_each_row([](const MatmulRow& row) {
    const int64_t n = 37, k = 2560;
    const Packed p(row, n, k, 79);
    const RandomActivations x(31, k, 83), left(31, k, 89);
    testing::Random random{97};
    std::vector<float> bias(static_cast<size_t>(n));
    for (float& v : bias) v = random.symmetric();
    for (const int64_t m : {1, 2, 3, 5, 6, 7, 8, 31}) {
      std::vector<float> first(static_cast<size_t>(m * n)), rest(first.size()), got(first.size(), 0.75f);
      ref_q_matmul(p.weight.w, x.tokens(0, m), first.data(), n);
      Activations alone = row.activation == kActQ8 ? left.tokens(0, m) : x.tokens(0, m);
      if (row.activation == kActBf16) alone.passes = kPassRest;
      ref_q_matmul(p.weight.w, alone, rest.data(), n);
      std::vector<float> want = first;
      for (size_t i = 0; i < want.size(); ++i) {
        want[i] += bias[i % static_cast<size_t>(n)];
        want[i] += 0.75f;
        want[i] += rest[i];
      }
      const Buffer scratch = scratch_for(row, 2 * m, k);
      run(p, both_of(x.tokens(0, m), left.tokens(0, m)), got.data(),
          const_cast<uint8_t*>(scratch.as<uint8_t>()), {bias.data(), 1});
      INFO(row.name << " m " << m);
      CHECK(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
    }
  });
}

TEST_CASE("strips are used again under the same stamp alone", "[matmul]") {
  for_each_row([](const MatmulRow& row) {
    const int64_t n = 48, k = 256, m = 29;
    const Packed p(row, n, k, 101);
    RandomActivations x(m, k, 103);
    const RandomActivations other(m, k, 107);
    const Buffer memory = scratch_for(row, m, k);
    auto* scratch = const_cast<uint8_t*>(memory.as<uint8_t>());
    std::vector<float> want(static_cast<size_t>(m * n)), got(want.size()), want_other(want.size());
    ref_q_matmul(p.weight.w, x.view, want.data(), n);
    ref_q_matmul(p.weight.w, other.view, want_other.data(), n);
    const auto matches = [&](const std::vector<float>& expected) {
      return std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0;
    };
    x.view.stamp = 5;
    run(p, x.view, got.data(), scratch, {nullptr, 0, 0, 1});
    run(p, x.view, got.data(), scratch, {nullptr, 0, 1, 3});
    INFO(row.name);
    CHECK(matches(want));
    Activations changed = other.view;  // without a stamp, and with a new one: packed anew
    run(p, changed, got.data(), scratch);
    CHECK(matches(want_other));
    run(p, x.view, got.data(), scratch);
    CHECK(matches(want));
    changed.stamp = 6;
    run(p, changed, got.data(), scratch);
    CHECK(matches(want_other));
  });
}

// Rows of one model share a worker's scratch within a phase.
TEST_CASE("rows that share a scratch do not take each other's strips", "[matmul]") {
  std::vector<const MatmulRow*> rows;
  for (const MatmulRow* row : all_matmul_rows())
    if (can_run(*row, detect_cpu()) && std::string_view(row->isa) != "ref_q") rows.push_back(row);
  const int64_t n = 16, k = 512, m = 13;
  int64_t bytes = 0;
  for (const MatmulRow* row : rows) bytes = std::max(bytes, row->scratch_bytes(m, k));
  Buffer scratch(static_cast<size_t>(bytes));
  std::memset(scratch.data(), 0, 64);
  RandomActivations x(m, k, 109);
  x.view.stamp = 1;
  for (size_t i = 0; i < rows.size(); i += 3) {
    const size_t pair[2] = {i, (i * 7 + 1) % rows.size()};
    for (int turn = 0; turn < 4; ++turn) {
      const MatmulRow& row = *rows[pair[turn % 2]];
      const Packed p(row, n, k, 113);
      std::vector<float> got(static_cast<size_t>(m * n)), want(got.size());
      run(p, x.view, got.data(), scratch.as<uint8_t>());
      Activations fresh = x.view;
      fresh.stamp = 0;
      const Buffer own = scratch_for(row, m, k);
      run(p, fresh, want.data(), const_cast<uint8_t*>(own.as<uint8_t>()));
      INFO(row.name << " after " << rows[pair[(turn + 1) % 2]]->name);
      bool equal = true;  // random bytes may decode to NaN, whose bits are free
      for (size_t e = 0; e < got.size(); ++e)
        equal = equal && (got[e] == want[e] || (got[e] != got[e] && want[e] != want[e]));
      CHECK(equal);
    }
  }
}

}  // namespace
}  // namespace ingle::kernels
